"""The check that matrix kernels were compiled to matrix instructions, and the kernels of each instance."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from fnmatch import fnmatchcase

from bitgate.core.targets import Matrix, architecture_of
from bitgate.kernel.declaration import Instance
from bitgate.model import Dtype, DtypeSet, operations
from bitgate.model.dtype import ROLES

_FUNCTION = re.compile(r"^(?:[0-9a-f]+ <)?([A-Za-z_$.][\w$.]*)>?:")
_MNEMONIC = re.compile(r"^\s+([vs]_\w+|ds_\w+|global_\w+|flat_\w+|buffer_\w+|scratch_\w+)")


@dataclass(frozen=True)
class Missing:
    """An instance without its instruction; ``kernels`` are those that lack it (all of the unit if none is known)."""

    instance: str
    instruction: str
    kernels: tuple[str, ...]

    def __str__(self) -> str:
        return f"{self.instance}: no {self.instruction} in {', '.join(self.kernels) or 'any kernel'}"


def mnemonics(assembly: str) -> dict[str, frozenset[str]]:
    """Return the instructions of each function, by its symbol, in a compiler's or a disassembler's text."""
    found: dict[str, set[str]] = {}
    current: set[str] = set()
    for line in assembly.splitlines():
        if line.startswith(".Lfunc_end"):
            current = set()
        elif label := _FUNCTION.match(line):
            if not label[1].startswith((".L", "$")):
                current = found.setdefault(label[1], set())
        elif word := _MNEMONIC.match(line):
            current.add(word[1])
    return {symbol: frozenset(words) for symbol, words in found.items() if words}


def operand_types(instance: Instance) -> list[tuple[Dtype, Dtype, Dtype, Dtype, Dtype]]:
    """List the types of A, B and C in memory and of the factors of A and B, for each pass of the instance.

    There are none of an instance whose operations are no products: its types are of other tensors.
    """
    every = operations()
    products = [one.matrices for name in instance.operations or every if (one := every.get(name)) and one.matrices]
    if not products:
        return []
    types = DtypeSet.parse(instance.dtypes[0])
    found = []
    for places in dict.fromkeys(products):
        a, b, c = (ROLES[place] for place in places)
        found.append((types.of(a), types.of(b), types.of(c), types.multiplicand(a), types.multiplicand(b)))
    return found


def kernels_of(instance: Instance, symbols: Iterable[str]) -> tuple[str, ...]:
    """Select the kernels whose template arguments hold the instance's types, tile, vectors and fragment as integers
    (docs/kernels.md)."""
    numbers = [triple for triple in (instance.tile, instance.vector, instance.fragment) if triple]
    tiling = ["".join(f"Li{number}E" for number in triple) for triple in numbers]
    types = {"".join(f"Li{dtype.code}E" for dtype in row) for row in operand_types(instance)}
    return tuple(s for s in symbols if all(text in s for text in tiling) and any(text in s for text in types))


def required(instance: Instance, target: str) -> tuple[str, ...]:
    """Return patterns of mnemonics of which the instance's kernels must hold one; empty if none is needed."""
    matrix = architecture_of(target).matrix
    if instance.fragment is None or matrix is None or instance.dtypes[0] in matrix.without:
        return ()
    factors = {row[3:] for row in operand_types(instance)}
    return tuple(sorted(f"v_{matrix.name.lower()}_{_signature(a, b, matrix)}" for a, b in factors))


def _signature(a: Dtype, b: Dtype, matrix: Matrix) -> str:
    """Format the types of sums and factors around the extents: ``f32_*fp8_bf8``. gfx90a writes none before a type."""
    if a.name == "i8":
        return f"i32_*{matrix.i8}"
    if a.is_float8:
        if not a.name.endswith(matrix.float8 or "none"):
            return "f32_*[0-9_]bf16*"
        return "f32_*_" + "_".join("bf8" if dtype.name.startswith("bf8") else "fp8" for dtype in (a, b))
    return f"{'f64' if a.name == 'f64' else 'f32'}_*[0-9_]{a.name}*"


def missing(
    instances: Iterable[Instance], target: str, kernels: Iterable[str], code: Mapping[str, frozenset[str]]
) -> list[Missing]:
    """List the instances of one unit that lack their matrix instruction; ``code`` has the instructions of functions.

    Each kernel of an instance must hold it. If a unit names its kernels otherwise, one of them must.
    """
    symbols = tuple(kernels)
    found: list[Missing] = []
    for instance in instances:
        patterns = required(instance, target)
        if not patterns:
            continue
        own = kernels_of(instance, symbols)
        lacking = tuple(symbol for symbol in own or symbols if not _holds(code.get(symbol, frozenset()), patterns))
        if not symbols or (lacking and (own or len(lacking) == len(symbols))):
            found.append(Missing(instance.name, " or ".join(patterns), lacking))
    return found


def _holds(words: frozenset[str], patterns: tuple[str, ...]) -> bool:
    return any(fnmatchcase(word, pattern) for word in words for pattern in patterns)
