"""The workbench of probes: the library's fragments on tiles, figures of its other kernels, and the measurement."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import ExitStack
from ctypes import CDLL, POINTER, Structure, c_int32, c_int64, c_uint32, sizeof
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bitgate.core.targets import architecture_of
from bitgate.kernel.errors import LibraryError
from bitgate.kernel.library import KernelLibrary
from bitgate.model import DTYPES, Dtype, Tensor
from bitgate.runtime.buffers import Buffer
from bitgate.runtime.device import Device

Tiles = NDArray[Any]

_POISON = 0xFF
"""Byte that fills results before a launch: a NaN, or -1, where nothing is written."""


class _CFragmentInfo(Structure):
    """The C structure bitgate_fragment_info of kernels/platform_probe/probe.h."""

    _fields_ = (
        ("struct_size", c_uint32),
        *((name, c_int32) for name in ("a", "b", "sum", "m", "n", "k", "wave_size")),
        ("exact_range", c_int64),
    )


@dataclass(frozen=True)
class Fragment:
    """One matrix fragment of the library: its place in the library's list, its name for people, types and shape."""

    index: int
    name: str
    a: Dtype
    b: Dtype
    sum: Dtype
    m: int
    n: int
    k: int
    wave: int
    exact_range: int


@dataclass(frozen=True)
class Deviation:
    """A finding of a probe: ``text`` is what is not as declared; ``subject`` the fragment of which it is true, empty
    for the device."""

    text: str
    subject: str = ""


@dataclass(eq=False)
class Workbench:
    """A library of probes on its open device. ``found`` collects what a probe puts on the record even where nothing is
    wrong."""

    device: Device
    library: KernelLibrary
    found: dict[str, Any] = field(default_factory=dict)

    @property
    def target(self) -> str:
        return self.device.target.name

    def fragments(self) -> tuple[Fragment, ...]:
        """Return every fragment that the library can try. Raises LibraryError if it does not list them."""
        path = self.library.path
        try:
            listing = CDLL(str(path.resolve())).bitgate_list_fragments
        except AttributeError:
            raise LibraryError(
                f"{path}: exports no bitgate_list_fragments; see kernels/platform_probe/probe.h"
            ) from None
        listing.restype, listing.argtypes = c_int32, (POINTER(_CFragmentInfo), c_int32)
        infos = (_CFragmentInfo * listing(None, 0))()
        listing(infos, len(infos))
        if any(info.struct_size != sizeof(_CFragmentInfo) for info in infos):
            raise LibraryError(f"{path}: its bitgate_fragment_info is not that of kernels/platform_probe/probe.h")
        return tuple(self._fragment(index, info) for index, info in enumerate(infos))

    def _fragment(self, index: int, info: _CFragmentInfo) -> Fragment:
        a, b, sums = (list(DTYPES.values())[code] for code in (info.a, info.b, info.sum))
        matrix = architecture_of(self.target).matrix
        kind = matrix.name if matrix else "fragment"
        types = a.name if a is b else f"{a} x {b}"
        wave = f" wave {info.wave_size}" if kind == "host" else ""
        name = f"{kind} {info.m}x{info.n}x{info.k} {types}{wave}"
        return Fragment(index, name, a, b, sums, info.m, info.n, info.k, info.wave_size, info.exact_range)

    def sums(self, fragment: Fragment, a: Tiles, b: Tiles, repeats: Tiles | None = None) -> Tiles:
        """Return sums over steps of ``repeats`` * (``a`` x ``b``), of shape (blocks, M, N).

        The operands are (blocks, steps, M, K) and (blocks, steps, K, N) of their types, ``repeats`` (blocks, steps).
        Raises KernelFailed or HipError if the launch fails.
        """
        blocks, steps = a.shape[:2]
        counts = np.ones((blocks, steps), np.int32) if repeats is None else repeats.astype(np.int32)
        result = np.empty((blocks, fragment.m, fragment.n), fragment.sum.numpy)
        inputs = {"a": a.astype(fragment.a.numpy), "b": b.astype(fragment.b.numpy), "repeats": counts}
        self._run("lanes", {"fragment": fragment.index, "blocks": blocks, "steps": steps}, inputs, result)
        return result

    def figures(self, instance: str, words: int, **numbers: int) -> NDArray[np.int32]:
        """Return the 32-bit words that a kernel of the library writes, given those numbers."""
        result = np.empty(words, np.int32)
        self._run(instance, numbers, {}, result)
        return result

    def _run(self, instance: str, numbers: Mapping[str, int], inputs: Mapping[str, Tiles], result: Tiles) -> None:
        arrays = {**inputs, FIGURES: result}
        with ExitStack() as stack:
            buffers: dict[str, Buffer] = {}
            for role, array in arrays.items():
                buffers[role] = stack.enter_context(self.device.alloc(array.nbytes, name=role))
            for role, array in inputs.items():
                buffers[role].upload(np.ascontiguousarray(array))
            buffers[FIGURES].fill(_POISON)
            pointers = {role: buffer.pointer for role, buffer in buffers.items()}
            problem = ProbeRequest.of(arrays, numbers)
            self.library.run(problem, instance, {}, pointers, stream=self.device.stream)
            self.device.synchronize()
            buffers[FIGURES].download(result)


FIGURES = "figures"
"""The role of the array that a probe writes."""


@dataclass(frozen=True)
class ProbeRequest:
    """The problem of a probe: ``elements`` of each array by role, in order, and numbers. Types are left to the kernel,
    which knows its fragment's; kernels/platform_probe/probe_problem.hpp reads it."""

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


Probe = Callable[[Workbench], Iterable[Deviation]]


@dataclass(frozen=True, eq=False)
class ProbeMeasurement:
    """A measurement by ``probe`` on ``bench``, from which the pipeline makes a verdict."""

    bench: Workbench
    probe: Probe

    @property
    def found(self) -> Mapping[str, Any]:
        return self.bench.found

    def take(self) -> tuple[str, Sequence[str]]:
        """Return all findings in one sentence, and one by one with the fragment of which each is true."""
        wrong = list(self.probe(self.bench))
        return sentence_of(wrong), [f"{finding.subject}: {finding.text}" for finding in wrong]


def sentence_of(findings: Iterable[Deviation]) -> str:
    """Return all findings in one line; those that are true of several fragments once, with the first one's name."""
    subjects: dict[str, list[str]] = {}
    for finding in findings:
        subjects.setdefault(finding.text, []).append(finding.subject)
    return "; ".join(_sentence(text, names) for text, names in subjects.items())


def _sentence(text: str, names: list[str]) -> str:
    more = f" and {len(names) - 1} more" if len(names) > 1 else ""
    return f"{names[0]}{more}: {text}" if names[0] else text
