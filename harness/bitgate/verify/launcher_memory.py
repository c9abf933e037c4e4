"""The judge's side of the memory that it shares with a launcher: operands go in, and poison where outputs will be."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import numpy as np

from bitgate.model import Problem
from bitgate.model.host_tensor import HostTensor
from bitgate.verify.launcher_messages import Places, StepPlaces, tensors_at
from bitgate.verify.on_device import DeviceData
from bitgate.verify.poison import poison_bits
from bitgate.worker.arena import Arena, Layout

Contents = tuple[Places, Mapping[str, HostTensor]]
"""Operands, and where they go."""


class LauncherMemory:
    """Two arenas in turn: ``turn`` is that of the case that is judged, ``next_turn`` that of the next one."""

    def __init__(self, descriptors: tuple[int, int]) -> None:
        first, second = descriptors
        self._arenas = Arena(first), Arena(second)
        self._left: tuple[list[HostTensor], list[HostTensor]] = [], []
        """Outputs of each arena that have not been wiped."""
        self.turn = 0

    @property
    def next_turn(self) -> int:
        return 1 - self.turn

    def begin_case(self) -> None:
        """Give the turn to the next case. Results of the last one are wiped: a kernel that finds its own operands next
        to them would only have to copy."""
        for output in self._left[self.turn]:
            _poison(output)
        self._left[self.turn].clear()
        self._arenas[self.turn].trim()
        self.turn = self.next_turn

    def arranged(
        self,
        turn: int,
        layout: Layout,
        problem: Problem,
        places: Sequence[StepPlaces],
        contents: Iterable[Contents],
    ) -> list[dict[str, HostTensor]]:
        """Put operands and poison into an arena, and return where the outputs will be: what another launch left there
        must not pass for a result."""
        memory = self._arenas[turn].sized(layout.size)
        for where, tensors in contents:
            for name, target in tensors_at(problem, where, memory).items():
                target.storage.view(np.uint8)[...] = tensors[name].storage.view(np.uint8)
        outputs = [tensors_at(problem, one.outputs, memory) for one in places]
        for found in outputs:
            for output in found.values():
                _poison(output)
                self._left[turn].append(output)
        return outputs


def _poison(output: HostTensor) -> None:
    dtype = output.tensor.dtype
    output.storage.view(dtype.bits).fill(poison_bits(dtype))


def contents_of(places: Places | None, data: DeviceData) -> list[Contents]:
    """Return the operands that were made on the host; there are none where the device makes them."""
    return [] if places is None or data.made is None else [(places, data.made)]


def placed(layout: Layout, problem: Problem, roles: Iterable[str]) -> Places:
    """Return places for tensors of the problem."""
    return {role: layout.place(problem.tensors[role].bytes) for role in roles}
