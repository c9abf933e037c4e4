"""Operators of mutation: an operator, a constant, a condition or a barrier is changed. Source text in, mutants out.

tree-sitter parses the text without types; a mutant that does not compile is found when it is built. Places whose value
the compiler must know cannot be switched at run time; they are left out, and counted.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from hashlib import sha256
from typing import TYPE_CHECKING

from bitgate.core.errors import UsageError
from bitgate.tools.faults.mutation.mutant import Mutant

if TYPE_CHECKING:
    from tree_sitter import Node, Parser

RELATIONAL = {"<": "<=", "<=": "<", ">": ">=", ">=": ">", "==": "!=", "!=": "=="}
ARITHMETIC = {
    **{"+": "-", "-": "+", "*": "/", "/": "*", "%": "*"},
    **{"<<": ">>", ">>": "<<", "&": "|", "|": "&", "^": "|"},
}
ASSIGNMENT = {f"{one}=": f"{other}=" for one, other in ARITHMETIC.items()}
LOGICAL = {"&&": "||", "||": "&&"}
STEP = {"++": "--", "--": "++"}

OPERATORS = (
    *("relational", "arithmetic", "assignment", "step", "logical", "constant"),
    "negation",  # the condition of an if, a loop or a choice the other way round
    "bounds",  # the condition of an if or a for taken as true, or one half of an && left out
    "barrier",  # a barrier, fence or wait left out
    "axis",  # an element of an array by a neighbour's index, as one axis' stride in place of another's
)

LONGEST = 400
"""Most characters of the text that a mutant holds twice."""

CONSTANT, ATTRIBUTE, UNPARSED, LONG = "constant expression", "attribute", "not parsed", "too long"

_FORBIDDEN = {
    **dict.fromkeys(
        (
            *("template_argument_list", "template_parameter_list", "static_assert_declaration", "enumerator"),
            *("bitfield_clause", "requires_clause", "requires_expression", "concept_definition", "noexcept"),
            *("sizeof_expression", "alignof_expression", "offsetof_expression", "decltype", "alignas_qualifier"),
            *("explicit_function_specifier", "type_descriptor", "array_declarator", "abstract_array_declarator"),
            *("new_declarator", "subscript_designator", "default_method_clause", "pure_virtual_clause"),
        ),
        CONSTANT,
    ),
    **dict.fromkeys(
        ("attribute_specifier", "attribute_declaration", "gnu_asm_expression", "ms_declspec_modifier"), ATTRIBUTE
    ),
    "ERROR": UNPARSED,
}
"""Nodes that hold no mutant, and why."""

_WAIT = re.compile(r"(__)?(sync(threads|warp)\w*|\w*barrier\w*|\w*fence\w*|a?wait\w*)")
_INTEGER = re.compile(r"(0[xX][0-9a-fA-F']+|0[bB][01']+|[0-9][0-9']*)([uUlLzZ]*)")
_FLOAT = re.compile(r"(?=.*[.eEpP])[0-9.][0-9a-fA-FxX.eEpP+-]*?[fFlL]?")

_DIRECTIVE = re.compile(r"^[ \t]*#(?:\\\r?\n|[^\n])*", re.MULTILINE)
_CALLED_WORD = re.compile(r"\b(?:__launch_bounds__|__attribute__|BITGATE_LAUNCH_BOUNDS|alignas)\s*(?=\()")
_WORD = re.compile(r"\b(?:__[a-z_]+__|[A-Z][A-Z0-9]*_[A-Z0-9_]+)(?=\s+[A-Za-z_])")
"""Qualifiers of a declaration that are no C++: ``__device__``, ``BITGATE_HD``."""


@dataclass
class MutantScan:
    """The mutants of a file in order, and the number of places left out, by reason."""

    mutants: list[Mutant] = field(default_factory=list)
    left_out: Counter[str] = field(default_factory=Counter)


def mutants_of(
    text: str, file: str, lines: Collection[int] | None = None, makers: Mapping[str, Maker] | None = None
) -> MutantScan:
    """Return the mutants of the ``lines`` that are compiled (None: of all). Raises UsageError without tree-sitter.

    ``makers`` offer edits of a node by its type, by default those of OPERATORS.
    """
    source = text.encode()
    tree = parser().parse(plain_cpp(text, lines).encode())
    walk = _Walk(source, file, sha256(source).hexdigest()[:16], _MAKERS if makers is None else makers)
    walk.visit(tree.root_node, "")
    walk.found.mutants.sort()
    return walk.found


def plain_cpp(text: str, lines: Collection[int] | None = None) -> str:
    """Blank out, byte for byte, what is not C++, directives, and lines that are not compiled."""
    for pattern in (_DIRECTIVE, _WORD):
        text = pattern.sub(lambda match: _blank(match[0]), text)
    text = _without_calls(text)
    if lines is None:
        return text
    numbered = enumerate(text.split("\n"), 1)
    return "\n".join(line if number in lines else _blank(line) for number, line in numbered)


def _blank(text: str) -> str:
    return re.sub(r"[^\n]", lambda match: " " * len(match[0].encode()), text)


def _without_calls(text: str) -> str:
    parts, at = [], 0
    for match in _CALLED_WORD.finditer(text):
        if match.start() < at:
            continue
        end, depth = match.end(), 0
        while end < len(text):
            depth += {"(": 1, ")": -1}.get(text[end], 0)
            end += 1
            if not depth:
                break
        parts += [text[at : match.start()], _blank(text[match.start() : end])]
        at = end
    return "".join([*parts, text[at:]])


class _Walk:
    def __init__(self, source: bytes, file: str, context: str, makers: Mapping[str, Maker]) -> None:
        self.found = MutantScan()
        self._source, self._file, self._context, self._makers = source, file, context, makers

    def visit(self, node: Node, why: str) -> None:
        why = why or _why_not(node)
        constant = _constant_part(node)
        for operator, at, mutated in self._offers(node):
            known = CONSTANT if constant is not None and at.id != node.id else ""
            reason = why or known or (LONG if at.end_byte - at.start_byte > LONGEST else "")
            if reason:
                self.found.left_out[reason] += 1
            else:
                self._add(operator, at, mutated)
        for child in node.children:
            self.visit(child, why or (CONSTANT if constant is not None and child.id == constant.id else ""))

    def _offers(self, node: Node) -> Iterator[Offer]:
        maker = self._makers.get(node.type)
        return iter(()) if maker is None else maker(node, self._text)

    def _text(self, node: Node) -> str:
        return _in_one_line(node, self._source)

    def _add(self, operator: str, at: Node, mutated: str) -> None:
        original = self._source[at.start_byte : at.end_byte].decode(errors="replace")
        if any(_DIRECTIVE.match(line) for line in original.split("\n")[1:]):
            self.found.left_out["preprocessor"] += 1
            return
        self.found.mutants.append(
            Mutant(
                file=self._file,
                start=at.start_byte,
                end=at.end_byte,
                operator=operator,
                mutated=mutated,
                original=original,
                line=at.start_point[0] + 1,
                column=at.start_point[1] + 1,
                last_line=at.end_point[0] + 1,
                context=self._context,
            )
        )


Offer = tuple[str, "Node", str]
"""Operator, replaced node and replacement."""
TextOf = Callable[["Node"], str]
Maker = Callable[["Node", TextOf], Iterator[Offer]]


def _binary(node: Node, text_of: TextOf) -> Iterator[Offer]:
    left, sign, right = (node.child_by_field_name(name) for name in ("left", "operator", "right"))
    if left is None or sign is None or right is None:
        return
    for operator, table in (("relational", RELATIONAL), ("arithmetic", ARITHMETIC), ("logical", LOGICAL)):
        if (other := table.get(sign.type)) is not None:
            yield operator, node, f"{text_of(left)} {other} {text_of(right)}"
    if sign.type == "&&":
        yield from (("bounds", node, f"static_cast<bool>({text_of(half)})") for half in (left, right))


def _assignment(node: Node, text_of: TextOf) -> Iterator[Offer]:
    left, sign, right = (node.child_by_field_name(name) for name in ("left", "operator", "right"))
    other = ASSIGNMENT.get(sign.type) if sign is not None else None
    if other and left is not None and right is not None:
        yield "assignment", node, f"{text_of(left)} {other} {text_of(right)}"


def _update(node: Node, text_of: TextOf) -> Iterator[Offer]:
    sign, operand = node.child_by_field_name("operator"), node.child_by_field_name("argument")
    if sign is not None and operand is not None:
        other, is_prefix = STEP[sign.type], sign.start_byte < operand.start_byte
        yield "step", node, f"{other}{text_of(operand)}" if is_prefix else f"{text_of(operand)}{other}"


def _number(node: Node, text_of: TextOf) -> Iterator[Offer]:
    text = text_of(node)
    if match := _INTEGER.fullmatch(text):
        digits, suffix = match[1].replace("'", ""), match[2]
        is_octal = digits[0] == "0" and digits.isdigit()
        value = int(digits, 8 if is_octal else 0)
        mutated = {0: 1, 1: 0}.get(value, value + 1)
        yield "constant", node, (f"{mutated:#x}" if digits[:2] in ("0x", "0X") else str(mutated)) + suffix
    elif _FLOAT.fullmatch(text):
        yield "constant", node, f"{text} + 1"


def _subscript(node: Node, text_of: TextOf) -> Iterator[Offer]:
    indices = node.child_by_field_name("indices")
    inner = [] if indices is None else indices.named_children
    if len(inner) == 1 and inner[0].type == "identifier":
        index = text_of(inner[0])
        yield from (("axis", inner[0], f"{index} == {axis} ? {axis - 1} : {index}") for axis in (1, 2))


def _truth(node: Node, text_of: TextOf) -> Iterator[Offer]:
    yield "constant", node, "false" if node.type == "true" else "true"


def _if(node: Node, text_of: TextOf) -> Iterator[Offer]:
    yield from _condition(node, text_of, is_bounds=True)


def _loop(node: Node, text_of: TextOf) -> Iterator[Offer]:
    yield from _condition(node, text_of, is_bounds=node.type == "for_statement")


def _condition(node: Node, text_of: TextOf, is_bounds: bool = False) -> Iterator[Offer]:
    condition = node.child_by_field_name("condition")
    if condition is not None and condition.type == "condition_clause":
        condition = condition.child_by_field_name("value")
    if condition is not None and condition.type == "parenthesized_expression":
        condition = next(iter(condition.named_children), None)
    if condition is None or condition.type in ("declaration", "comment"):
        return
    sign = condition.child_by_field_name("operator")
    if sign is None or sign.type not in ("==", "!="):  # negated, these would equal relational mutants
        yield "negation", condition, f"!({text_of(condition)})"
    if is_bounds:
        yield "bounds", condition, "true"


def _statement(node: Node, text_of: TextOf) -> Iterator[Offer]:
    if waits(node, text_of):
        yield "barrier", node, ""


def waits(node: Node, text_of: TextOf) -> bool:
    """Return whether a statement calls a barrier, a fence or a wait."""
    call = next(iter(node.named_children), None)
    if call is None or call.type != "call_expression":
        return False
    function = call.child_by_field_name("function")
    name = re.search(r"\w+$", re.sub(r"<.*", "", text_of(function)).strip()) if function is not None else None
    return name is not None and _WAIT.fullmatch(name[0]) is not None


_MAKERS: Mapping[str, Maker] = {
    "binary_expression": _binary,
    "assignment_expression": _assignment,
    "update_expression": _update,
    "number_literal": _number,
    "subscript_expression": _subscript,
    "true": _truth,
    "false": _truth,
    "if_statement": _if,
    "for_statement": _loop,
    "while_statement": _loop,
    "do_statement": _loop,
    "conditional_expression": _condition,
    "expression_statement": _statement,
}


def _constant_part(node: Node) -> Node | None:
    """Return the part of a run-time statement that the compiler evaluates."""
    if node.type == "case_statement":
        return node.child_by_field_name("value")
    if node.type == "field_declaration" and _is_function(node.child_by_field_name("declarator")):
        return node.child_by_field_name("default_value")  # = 0
    if node.type == "if_statement" and any(child.type == "constexpr" for child in node.children):
        return node.child_by_field_name("condition")
    return None


def is_switchable(node: Node) -> bool:
    """Return whether a program can choose between a node and another one at run time."""
    while node.parent is not None:
        constant = _constant_part(node.parent)
        if _why_not(node) or (constant is not None and constant.id == node.id):
            return False
        node = node.parent
    return True


def one_line(node: Node, source: bytes) -> str | None:
    """Return a node's text in one line and without comments; None if it holds a directive."""
    lines = source[node.start_byte : node.end_byte].decode(errors="replace").split("\n")
    return None if any(_DIRECTIVE.match(line) for line in lines[1:]) else _in_one_line(node, source)


def _in_one_line(node: Node, source: bytes) -> str:
    parts, at = [], node.start_byte
    for comment in _comments(node):
        parts.append(source[at : comment.start_byte])
        at = comment.end_byte
    parts.append(source[at : node.end_byte])
    return " ".join(b" ".join(parts).decode(errors="replace").split("\n")).strip()


def _is_function(declarator: Node | None) -> bool:
    while declarator is not None and declarator.type != "function_declarator":
        declarator = declarator.child_by_field_name("declarator")
    return declarator is not None


def _why_not(node: Node) -> str:
    """Say why nothing in the node can be switched at run time; empty if it can."""
    if node.type in _FORBIDDEN:
        return _FORBIDDEN[node.type]
    if node.type in ("declaration", "field_declaration"):
        words = {child.text for child in node.children if child.type in ("type_qualifier", "constexpr", "constinit")}
        return CONSTANT if words & {b"constexpr", b"constinit"} else ""
    return ""


def _comments(node: Node) -> Iterator[Node]:
    for child in node.children:
        if child.type == "comment":
            yield child
        else:
            yield from _comments(child)


@lru_cache(maxsize=1)
def parser() -> Parser:
    """Return a parser of C++. Raises UsageError without tree-sitter."""
    try:
        import tree_sitter_cpp
        from tree_sitter import Language, Parser
    except ImportError:
        raise UsageError("mutants need tree-sitter and its C++ grammar: pip install 'bitgate[mutate]'") from None
    return Parser(Language(tree_sitter_cpp.language()))
