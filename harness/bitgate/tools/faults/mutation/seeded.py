"""Seeded defects as mutants of one library: all of a family in one build, each with a switch.

Only what is found so is believed. A defect that cannot be switched, or that no case finds so, is built and tried alone.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from functools import lru_cache
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING

from bitgate.kernel.build.includes import FamiliesByFile
from bitgate.tools.faults.fault import Fault
from bitgate.tools.faults.mutation.campaign import MutationSetup, try_in_family
from bitgate.tools.faults.mutation.mutant import Mutant
from bitgate.tools.faults.mutation.operators import is_switchable, one_line, parser, plain_cpp
from bitgate.tools.faults.mutation.schema import SEEDED, SEEDED_STATEMENT
from bitgate.tools.faults.mutation.trial import Fate, MutantTrial
from bitgate.tools.faults.source_text import source_text
from bitgate.tools.faults.trial import Trial

if TYPE_CHECKING:
    from tree_sitter import Node, Tree

STATEMENTS = (
    *("expression_statement", "if_statement", "for_statement", "while_statement", "do_statement", "return_statement"),
    "compound_statement",
)
VALUES = ("number_literal", "true", "false", "string_literal")
PLACES = (
    *("argument_list", "binary_expression", "subscript_argument_list", "return_statement", "conditional_expression"),
    "parenthesized_expression",
)
"""Parents in which an identifier is a value."""


def mutant_of(fault: Fault, root: Path) -> Mutant | None:
    """Return a fault as a mutant of the smallest expression or statement that holds its edit; None if there is none."""
    path = root / fault.file
    if path.suffix not in (".hpp", ".cpp", ".h"):
        return None
    text, seeded = source_text(path), fault.seeded(root)
    source, other = text.encode(), seeded.encode()
    start = _equal(source, other)
    shared = _equal(source[start:][::-1], other[start:][::-1])
    end, longer = len(source) - shared, len(other) - len(source)
    changed = parser().parse(plain_cpp(seeded).encode())
    # Text that is put in belongs to what stands before it, or after it.
    places = ((start, end), (start - 1, end)) if start == end else ((start, end),)
    found = [_smallest(_tree(text).root_node.descendant_for_byte_range(*place), changed, longer) for place in places]
    nodes = [one for one in found if one is not None]
    if not nodes:
        return None
    node, there = min(nodes, key=lambda one: one[0].end_byte - one[0].start_byte)
    mutated = one_line(there, other)
    if not is_switchable(node) or mutated is None:
        return None
    return Mutant(
        file=fault.file,
        start=node.start_byte,
        end=node.end_byte,
        operator=_operator(node),
        mutated=mutated,
        original=source[node.start_byte : node.end_byte].decode(),
        line=node.start_point[0] + 1,
        column=node.start_point[1] + 1,
        last_line=node.end_point[0] + 1,
        context=sha256(source).hexdigest()[:16],
    )


@lru_cache(maxsize=64)
def _tree(text: str) -> Tree:
    return parser().parse(plain_cpp(text).encode())


def _smallest(node: Node | None, changed: Tree, longer: int) -> tuple[Node, Node] | None:
    """Return the smallest part around a node that the changed text has too, ``longer`` bytes longer, and it there."""
    while node is not None:
        there = changed.root_node.descendant_for_byte_range(node.start_byte, node.end_byte + longer)
        if _operator(node) and there is not None and _is_same_place(node, there, longer):
            return node, there
        node = node.parent
    return None


def _equal(one: bytes, other: bytes) -> int:
    """Return how many bytes two texts begin with alike."""
    pairs = enumerate(zip(one, other, strict=False))
    return next((place for place, (a, b) in pairs if a != b), min(len(one), len(other)))


def _is_same_place(node: Node, there: Node, longer: int) -> bool:
    """Say whether a node of the text with the fault stands in place of ``node``."""
    span = (node.start_byte, node.end_byte + longer)
    return (there.start_byte, there.end_byte) == span and _operator(there) == _operator(node) and not there.has_error


def _operator(node: Node) -> str:
    """Return how a node is switched; empty if it is no value and no statement."""
    parent = node.parent.type if node.parent is not None else ""
    if node.type in STATEMENTS:
        return "" if parent == "switch_statement" else SEEDED_STATEMENT
    is_value = node.type in VALUES or (node.type == "identifier" and parent in PLACES)
    return SEEDED if is_value or node.type.endswith("_expression") else ""


def switchable(faults: Iterable[Fault], root: Path) -> dict[Mutant, Fault]:
    """Return the faults that can be switched, by what they are then."""
    return {mutant: fault for fault in faults if (mutant := mutant_of(fault, root)) is not None}


def found_by_switch(setup: MutationSetup, faults: Mapping[Mutant, Fault], root: Path) -> Iterator[Trial]:
    """Yield the trials of faults that a case of the tier finds, and names if they ask for a diagnosis; at the end those
    of faults that only a drawn case shows."""
    by_file = FamiliesByFile(setup.families.values())
    reached = {file: by_file.of(root / file) for file in {mutant.file for mutant in faults}}
    paths = {file: (root / file).resolve() for file in reached}
    bench = replace(setup, expected={mutant: fault.diagnosis for mutant, fault in faults.items()})
    left, shown = list(faults), dict[Mutant, MutantTrial]()
    for name, family in setup.families.items():
        own = [mutant for mutant in left if name in reached[mutant.file]]
        for one in try_in_family(bench, family, own, len(own), paths) if own else ():
            fault = faults[one.mutant]
            if one.fate.is_kill and (not fault.diagnosis or fault.diagnosis in one.kinds):
                left.remove(one.mutant)
                yield Trial(fault, True, True, one.by, one.verdict, one.kinds, one.sentence, one.seconds)
            elif one.fate is Fate.NOT_COMPILABLE:
                left.remove(one.mutant)  # looked for again in each family that has the file, it costs more than a build
            elif one.shown_by:
                shown[one.mutant] = one
    for mutant in left:
        if mutant in shown:
            one = shown[mutant]
            yield Trial(faults[mutant], True, False, "", "", (), "", one.seconds, f"a hole; red: {one.shown_by}")
