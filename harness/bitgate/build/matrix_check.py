"""Whether matrix kernels were compiled to matrix instructions, and which kernels an instance consists of."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from bitgate.kernel.declaration import Instance, wave_sizes

MATRIX_INSTRUCTIONS = {64: "v_mfma_", 32: "v_wmma_"}
"""What a matrix instruction's name begins with, by the lanes of a wave."""

NO_WMMA = ("f32", "f64")
"""Types whose fragments of 32 lanes are sums by fma: WMMA does not have them."""

_FUNCTION = re.compile(r"^(?:[0-9a-f]+ <)?([A-Za-z_$.][\w$.]*)>?:")
_MNEMONIC = re.compile(r"^\s+([vs]_\w+|ds_\w+|global_\w+|flat_\w+|buffer_\w+|scratch_\w+)")


@dataclass(frozen=True)
class Missing:
    """An instance without the instruction; ``kernels`` are those that lack it (all of the unit where none is known)."""

    instance: str
    instruction: str
    kernels: tuple[str, ...]

    def __str__(self) -> str:
        return f"{self.instance}: no {self.instruction}... in {', '.join(self.kernels) or 'any kernel'}"


def mnemonics(assembly: str) -> dict[str, frozenset[str]]:
    """The instructions that each function uses, by its symbol, in a compiler's or a disassembler's text."""
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


def kernels_of(instance: Instance, symbols: Iterable[str]) -> tuple[str, ...]:
    """Kernels whose template arguments hold the instance's tile, vectors and fragment as integers (docs/kernels.md)."""
    numbers = [triple for triple in (instance.tile, instance.vector, instance.fragment) if triple]
    spelled = ["".join(f"Li{number}E" for number in triple) for triple in numbers]
    return tuple(symbol for symbol in symbols if all(text in symbol for text in spelled))


def required(instance: Instance, target: str) -> str:
    """The beginning of the instruction that the instance's kernels must hold; empty where none is needed."""
    if instance.fragment is None:
        return ""
    wave = instance.wave_size or wave_sizes(target)[0]
    return "" if wave == 32 and instance.dtypes[0] in NO_WMMA else MATRIX_INSTRUCTIONS[wave]


def missing(
    instances: Iterable[Instance], target: str, kernels: Iterable[str], code: Mapping[str, frozenset[str]]
) -> list[Missing]:
    """Instances of one unit that lack their matrix instruction, given the unit's kernels and what functions use.

    Each kernel of an instance must hold it. Where a unit names its kernels otherwise, one of them must.
    """
    symbols = tuple(kernels)
    found: list[Missing] = []
    for instance in instances:
        instruction = required(instance, target)
        if not instruction:
            continue
        own = kernels_of(instance, symbols)
        lacking = tuple(s for s in own or symbols if not any(w.startswith(instruction) for w in code.get(s, ())))
        if not symbols or (lacking and (own or len(lacking) == len(symbols))):
            found.append(Missing(instance.name, instruction, lacking))
    return found
