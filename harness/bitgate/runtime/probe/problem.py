"""Requests to a probe's kernel: arrays and numbers, as kernels/platform_probe/probe_problem.hpp reads them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from numpy.typing import NDArray

from bitgate.model import DTYPES, Tensor

FIGURES = "figures"
"""The role of the array that a probe writes."""


@dataclass(frozen=True)
class ProbeRequest:
    """The problem of a probe: ``elements`` of each array by role, in order. Types are left to the kernel, which knows
    its fragment's."""

    elements: tuple[tuple[str, int], ...]
    numbers: tuple[tuple[str, int], ...]
    operation = "probe"
    outputs = (FIGURES,)
    parts = 1

    @classmethod
    def of(cls, arrays: Mapping[str, NDArray[Any]], numbers: Mapping[str, int]) -> ProbeRequest:
        return cls(tuple((role, array.size) for role, array in arrays.items()), tuple(numbers.items()))

    @property
    def tensors(self) -> Mapping[str, Tensor]:
        return {role: Tensor(role, DTYPES["i32"], "", (length,), (1,)) for role, length in self.elements}

    @property
    def attributes(self) -> Mapping[str, int]:
        return dict(self.numbers)
