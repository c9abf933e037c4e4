"""Names that a place of a C++ text may use, by the type that they are declared with; templates are not instantiated."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from bitgate.tools.faults.mutation.operators import parser, plain_cpp

if TYPE_CHECKING:
    from tree_sitter import Node

Kinds = Mapping[str, str]
"""The kind of each name in the order of declaration: its type with a ``*`` or ``[]``, and whether it points to
constants."""
INDICES = ("blockIdx", "threadIdx", "blockDim", "gridDim")
_OF_INDICES: Kinds = dict.fromkeys("xyz", "unsigned")

MOST_SIBLINGS, MOST_OWNERS = 4, 3

_INTEGER = re.compile(r"(std::)?(u?int\d*(_t)?|unsigned|size_t|ptrdiff_t|long|short)")
_NAMES = ("identifier", "field_identifier")
_SHAPES = {"pointer_declarator": "*", "array_declarator": "[]"}


def is_integer(kind: str) -> bool:
    return _INTEGER.fullmatch(kind) is not None


def siblings(name: str, kinds: Kinds, most: int = MOST_SIBLINGS) -> list[str]:
    """Return the nearest names of the same kind; those that share a word with the name come first."""
    order = list(kinds)
    words, place = set(name.split("_")), order.index(name)

    def distance(other: str) -> tuple[bool, int]:
        return not words & set(other.split("_")), abs(order.index(other) - place)

    return sorted((one for one in order if one != name and kinds[one] == kinds[name]), key=distance)[:most]


def visible(node: Node) -> dict[str, str]:
    """Return the kinds of the names of the node's function and class that are declared before it, nearest first."""
    found: dict[str, str] = {}
    child = node
    while (parent := child.parent) is not None:
        for name, kind in _declared_for(parent, child):
            found.setdefault(name, kind)
        if parent.type == "lambda_expression" and not _captures_all(parent):
            break
        child = parent
    return found


def is_loop_variable(node: Node) -> bool:
    """Say whether a name in the condition of a loop is declared by that loop: another one there hangs."""
    child, name = node, node.text
    while (parent := child.parent) is not None and not child.type.endswith("_statement"):
        if parent.type == "for_statement":
            first = parent.child_by_field_name("initializer")
            return first is not None and name in {one.encode() for one, _ in _declared(first)}
        child = parent
    return False


class Members:
    """The data members of the structs of several texts."""

    def __init__(self, texts: Iterable[str]) -> None:
        self._structs: dict[str, Kinds] = {}
        self._owners: dict[str, list[Kinds]] = {}
        for text in texts:
            self._read(parser().parse(plain_cpp(text).encode()).root_node)

    def owners(self, member: str, of: str, kind: str) -> Sequence[Kinds]:
        """Return the members of the struct that the ``kind`` of an object names, else of all that have the member.

        There are none if these are too many to guess which it is.
        """
        if of in INDICES:
            return [_OF_INDICES]
        own = self._structs.get(kind.partition("<")[0].rpartition("::")[2])
        if own is not None and member in own:
            return [own]
        guesses = self._owners.get(member, [])
        return guesses if len(guesses) <= MOST_OWNERS else []

    def _read(self, node: Node) -> None:
        if node.type in ("struct_specifier", "class_specifier"):
            body, name = node.child_by_field_name("body"), node.child_by_field_name("name")
            kinds = dict(_fields(body)) if body is not None else {}
            if name is not None and name.text is not None and kinds:
                self._structs[name.text.decode()] = kinds
            for member in kinds:
                self._owners.setdefault(member, []).append(kinds)
        for child in node.named_children:
            self._read(child)


def _declared_for(parent: Node, child: Node) -> Iterator[tuple[str, str]]:
    if parent.type == "compound_statement":
        for one in parent.named_children:
            if one.type == "declaration" and one.end_byte <= child.start_byte:
                yield from _declared(one)
    elif parent.type == "for_statement":
        first = parent.child_by_field_name("initializer")
        if first is not None and first.id != child.id:
            yield from _declared(first)
    elif parent.type == "for_range_loop":
        yield from _declared(parent)
    elif parent.type in ("function_definition", "lambda_expression"):
        yield from _parameters(parent.child_by_field_name("declarator"))
    elif parent.type == "field_declaration_list":
        yield from _fields(parent)


def _parameters(declarator: Node | None) -> Iterator[tuple[str, str]]:
    while declarator is not None and not declarator.type.endswith("function_declarator"):
        declarator = _inner(declarator)
    parameters = None if declarator is None else declarator.child_by_field_name("parameters")
    for one in [] if parameters is None else parameters.named_children:
        yield from _declared(one)


def _fields(body: Node) -> Iterator[tuple[str, str]]:
    for one in body.named_children:
        if one.type == "field_declaration" and not any(child.text == b"static" for child in one.children):
            yield from _declared(one)


def _declared(node: Node) -> Iterator[tuple[str, str]]:
    of_type = node.child_by_field_name("type")
    if of_type is None or of_type.text is None or of_type.type == "placeholder_type_specifier":
        return
    for declarator in node.children_by_field_name("declarator"):
        at: Node | None = declarator
        shape = ""
        while at is not None and at.type not in _NAMES and not at.type.endswith("function_declarator"):
            shape += _SHAPES.get(at.type, "")
            at = _inner(at)
        if at is not None and at.type in _NAMES and at.text is not None:
            constant = "const " if shape and any(one.text == b"const" for one in node.children) else ""
            yield at.text.decode(), constant + of_type.text.decode() + shape


def _inner(declarator: Node) -> Node | None:
    inner = declarator.child_by_field_name("declarator")
    return inner if inner is not None else next(reversed(declarator.named_children), None)


def _captures_all(function: Node) -> bool:
    captures = function.child_by_field_name("captures")
    return captures is not None and any(one.type == "lambda_default_capture" for one in captures.named_children)
