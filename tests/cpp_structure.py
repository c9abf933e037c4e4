"""C++ as nested tuples, without parentheses: what two texts have in common that mean the same."""

from __future__ import annotations

import re
from typing import Any

from bitgate.tools.faults.mutation.mutant import Mutant
from bitgate.tools.faults.mutation.operators import plain_cpp

SWITCH = re.compile(r"BITGATE_MUTANT(?:_AT)?\((\d+)")


def mutated(text: str, mutant: Mutant) -> str:
    """The text as the mutant has it."""
    source, stands = text.encode(), f"({mutant.mutated})" if mutant.mutated else ""
    return (source[: mutant.start] + stands.encode() + source[mutant.end :]).decode()


def structure(text: str, switch: int = 0) -> Any:
    """Of a schema: what is left with the switch turned to a mutant."""
    import tree_sitter_cpp
    from tree_sitter import Language, Parser

    tree = Parser(Language(tree_sitter_cpp.language())).parse(plain_cpp(text).encode())
    return _of(tree.root_node, switch)


def _of(node: Any, switch: int) -> Any:
    if node.type == "conditional_expression":
        condition, on, off = (node.child_by_field_name(n) for n in ("condition", "consequence", "alternative"))
        if SWITCH.match(condition.text.decode()):
            return _of(on if _number(condition) == switch else off, switch)
    if node.type == "compound_statement" and len(node.named_children) == 1:
        only = node.named_children[0]
        condition = only.child_by_field_name("condition") if only.type == "if_statement" else None
        if condition is not None and condition.text.decode().startswith("(!BITGATE_MUTANT("):
            return () if _number(condition) == switch else _of(only.child_by_field_name("consequence"), switch)
    if node.type == "parenthesized_expression" or node.text.startswith(b"static_cast<bool>("):
        inner = node if node.type == "parenthesized_expression" else node.child_by_field_name("arguments")
        if inner is not None and len(inner.named_children) == 1:
            return _of(inner.named_children[0], switch)
    if not node.children:
        return node.text.decode()
    return node.type, *(_of(child, switch) for child in node.children if child.type != "comment")


def _number(condition: Any) -> int:
    found = SWITCH.search(condition.text.decode())
    assert found
    return int(found[1])
