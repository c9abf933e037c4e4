"""Operators of repair: edits that undo what people get wrong, next to the operators of mutation.

They are for localization alone: no mutant is drawn of them. Some do not compile, since types are known by their
spelling only; the compiler says which.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from itertools import pairwise
from typing import TYPE_CHECKING

from bitgate.tools.faults.locate.scope import Members, is_integer, is_loop_variable, siblings, visible
from bitgate.tools.faults.mutation.operators import Maker, Offer, TextOf, waits
from bitgate.tools.faults.mutation.schema import SYNCHRONIZED

if TYPE_CHECKING:
    from tree_sitter import Node

REPAIRS = (
    "sibling",  # a variable or member in place of another one of the same type
    *("index", "axis"),  # [0] in place of [1] or [2], and back
    "neighbour",  # + 1 or - 1 in a bound, an index or a dividend; a number less one
    "operand",  # an operand of a sum, product or quotient left out
    "factor",  # an index times a variable, as a stride that was left out
    "grouping",  # parentheses elsewhere
    *("extremum", "division", "position"),  # min and max, / and %, x++ and ++x
    "exchange",  # two arguments of a call the other way round
    SYNCHRONIZED,  # a barrier before a statement, in a function that has one
)

_VALUES = (
    *("argument_list", "binary_expression", "subscript_argument_list", "return_statement", "conditional_expression"),
    *("parenthesized_expression", "initializer_list", "init_declarator", "assignment_expression", "field_expression"),
    *("subscript_expression", "unary_expression", "pointer_expression"),
)
"""Parents of an identifier that is a value."""
_BEYOND = {"<": "-", "<=": "+", ">": "+", ">=": "-"}
"""The sign of the 1 that is added to a bound, by its comparison: some are right neither with ``<`` nor with ``<=``."""
_OTHER_EXTREMUM = {"min": "max", "max": "min"}
_EXTREMUM = re.compile(r"\b(f?)(min|max)(f?)(?=<|$)")
_AXES = (0, 1, 2)
_BARRIER = "__syncthreads();"
_MACRO = re.compile(r"[A-Z][A-Z0-9_]+\(")
MOST_FACTORS, MOST_ARGUMENTS = 5, 8


def repair_makers(members: Members) -> Mapping[str, Maker]:
    """Return the makers of repairs by the type of the node; ``members`` are those of all structs in use."""
    names = _Names(members)
    return {
        "identifier": names.identifier,
        "field_expression": names.member,
        "subscript_expression": _subscript,
        "number_literal": _number,
        "binary_expression": _binary,
        "call_expression": _call,
        "update_expression": _update,
        "expression_statement": _statement,
    }


class _Names:
    def __init__(self, members: Members) -> None:
        self._members = members

    def identifier(self, node: Node, text_of: TextOf) -> Iterator[Offer]:
        name, kinds = text_of(node), visible(node)
        if name in kinds and _is_value(node) and not is_loop_variable(node):
            yield from (("sibling", node, other) for other in siblings(name, kinds))

    def member(self, node: Node, text_of: TextOf) -> Iterator[Offer]:
        field, of = node.child_by_field_name("field"), node.child_by_field_name("argument")
        if field is None or of is None or field.type != "field_identifier" or not _is_value(node):
            return
        name, whole, kinds = text_of(field), text_of(node), visible(node)
        others: dict[str, None] = {}
        for own in self._members.owners(name, text_of(of), kinds.get(text_of(of), "")):
            others |= dict.fromkeys(whole.removesuffix(name) + other for other in siblings(name, own))
            is_bound = is_integer(own[name]) and _is_right_of(node, _BEYOND)
            for other, kind in kinds.items():
                shares = set(name.split("_")) & set(other.split("_"))
                if kind == own[name] and (shares or is_bound):
                    others[other] = None
        yield from (("sibling", node, other) for other in others)


def _is_value(node: Node) -> bool:
    parent = node.parent
    if parent is None or parent.type not in _VALUES:
        return False
    if parent.type in ("assignment_expression", "init_declarator"):
        return any(
            (one := parent.child_by_field_name(side)) is not None and one.id == node.id for side in ("right", "value")
        )
    return True


def _is_right_of(node: Node, signs: Mapping[str, str]) -> bool:
    parent = node.parent
    if parent is None or parent.type != "binary_expression":
        return False
    sign, right = parent.child_by_field_name("operator"), parent.child_by_field_name("right")
    return sign is not None and sign.type in signs and right is not None and right.id == node.id


def _subscript(node: Node, text_of: TextOf) -> Iterator[Offer]:
    indices = node.child_by_field_name("indices")
    inner = [] if indices is None else indices.named_children
    if len(inner) != 1:
        return
    [index], text = inner, text_of(inner[0])
    if index.type == "number_literal":
        if text in map(str, _AXES):
            yield from (("index", index, str(axis)) for axis in _AXES if str(axis) != text)
        return
    yield from (("neighbour", index, f"{text} {sign} 1") for sign in "+-")
    if index.type == "identifier":
        yield from (("axis", index, f"{text} == {axis} ? {axis + 1} : {text}") for axis in _AXES[:2])
        yield from _factors(index, text)


def _factors(index: Node, text: str) -> Iterator[Offer]:
    kinds = visible(index)
    strides = [name for name, kind in kinds.items() if name != text and is_integer(kind)]
    if is_integer(kinds.get(text, "")):
        yield from (("factor", index, f"{text} * {name}") for name in strides[:MOST_FACTORS])


def _number(node: Node, text_of: TextOf) -> Iterator[Offer]:
    text = text_of(node)
    if text.isdigit() and text[0] != "0":
        yield "neighbour", node, "2" if text == "1" else str(int(text) - 1)


def _binary(node: Node, text_of: TextOf) -> Iterator[Offer]:
    left, sign, right = (node.child_by_field_name(name) for name in ("left", "operator", "right"))
    if left is None or sign is None or right is None:
        return
    one, other = text_of(left), text_of(right)
    if (beyond := _BEYOND.get(sign.type)) is not None and right.type != "number_literal":
        yield "neighbour", right, f"{other} {beyond} 1"
    if sign.type in "+-*/%":
        yield "operand", node, one
    if sign.type in "+*":
        yield "operand", node, other
    if sign.type in "/%":
        yield "division", node, f"{one} {'%' if sign.type == '/' else '/'} {other}"
        yield from (("neighbour", left, f"{one} {step} 1") for step in "+-")
    if sign.type == "+" and right.type == "identifier":
        yield from _factors(right, other)
    yield from (("grouping", node, text) for text in _regrouped(left, sign.type, right, text_of))


def _regrouped(left: Node, sign: str, right: Node, text_of: TextOf) -> Iterator[str]:
    one, other = text_of(left), text_of(right)
    first, second = _parts(left, text_of), _parts(right, text_of)
    if sign in "+-" and second is not None and second[1] in "*/":
        yield f"({one} {sign} {second[0]}) {second[1]} {second[2]}"
    if sign in "+-" and first is not None and first[1] == "*":
        yield f"{first[0]} * ({first[2]} {sign} {other})"
    if sign in "*/" and first is not None and first[1] in "+-":
        yield f"{first[0]} {first[1]} {first[2]} {sign} {other}"
    if sign == "*" and second is not None and second[1] in "+-":
        yield f"{one} * {second[0]} {second[1]} {second[2]}"


def _parts(node: Node, text_of: TextOf) -> tuple[str, str, str] | None:
    """Return the operands and the sign of an operation, in parentheses or not."""
    if node.type == "parenthesized_expression" and len(node.named_children) == 1:
        [node] = node.named_children
    left, sign, right = (node.child_by_field_name(name) for name in ("left", "operator", "right"))
    if node.type != "binary_expression" or left is None or sign is None or right is None or sign.type not in "+-*/":
        return None
    return text_of(left), sign.type, text_of(right)


def _call(node: Node, text_of: TextOf) -> Iterator[Offer]:
    function, arguments = node.child_by_field_name("function"), node.child_by_field_name("arguments")
    if function is None or arguments is None or arguments.type != "argument_list":
        return
    name, given = text_of(function), [one for one in arguments.named_children if one.type != "comment"]
    other = _EXTREMUM.sub(lambda match: match[1] + _OTHER_EXTREMUM[match[2]] + match[3], name)
    if other != name:
        yield "extremum", node, other + text_of(arguments)
    elif 2 <= len(given) <= MOST_ARGUMENTS and not _MACRO.match(f"{name}("):
        kinds, texts = visible(node), [text_of(one) for one in given]
        for place, (one, two) in enumerate(pairwise(texts)):
            if one != two and kinds.get(one, "?") == kinds.get(two, "?"):
                swapped = ", ".join([*texts[:place], two, one, *texts[place + 2 :]])
                yield "exchange", node, f"{name}({swapped})"


def _update(node: Node, text_of: TextOf) -> Iterator[Offer]:
    sign, operand = node.child_by_field_name("operator"), node.child_by_field_name("argument")
    used = node.parent is not None and node.parent.type not in ("expression_statement", "for_statement")
    if used and sign is not None and operand is not None:
        text, is_prefix = text_of(operand), sign.start_byte < operand.start_byte
        yield "position", node, f"{text}{sign.type}" if is_prefix else f"{sign.type}{text}"


def _statement(node: Node, text_of: TextOf) -> Iterator[Offer]:
    function = node.parent
    while function is not None and function.type != "function_definition":
        function = function.parent
    declares = _MACRO.match(text_of(node)) is not None  # what it declares is needed after it
    if function is not None and _BARRIER in text_of(function) and not waits(node, text_of) and not declares:
        yield SYNCHRONIZED, node, f"{_BARRIER} {text_of(node)}"
