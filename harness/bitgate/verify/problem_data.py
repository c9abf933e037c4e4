"""The data of a problem: its operands and the results it must give, and a cache that keeps both for the next case."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

from bitgate.model import Accumulation, Problem
from bitgate.model.host_tensor import HostTensor, has_gaps
from bitgate.numerics.certificate import check_claim, measured_certificate
from bitgate.numerics.digest import digest_of
from bitgate.numerics.fill import make_inputs, plan_fill
from bitgate.results.record import Certificate
from bitgate.verify.bounds import Judge
from bitgate.verify.guarded import same_bytes
from bitgate.verify.running import LaunchResult


@dataclass(frozen=True, eq=False)
class Inputs:
    """The operands of a case, and why their result can be compared bit for bit."""

    tensors: dict[str, HostTensor]
    certificate: Certificate


@dataclass(frozen=True, eq=False)
class Operands:
    """The operands of a case, whose claims hold; ``certify`` measures their certificate once it is asked for, which
    takes longer than a launch where a stored digest decides."""

    tensors: dict[str, HostTensor]
    certify: Callable[[], Certificate]

    @cached_property
    def certificate(self) -> Certificate:
        return self.certify()


@dataclass(frozen=True, eq=False)
class Reference:
    """The expected outputs of a case, and the kind of reference that computed them.

    ``digest`` is of the outputs that are compared by bits; ``judges`` decide on the others, by role.
    """

    tensors: Mapping[str, HostTensor]
    kind: str
    digest: str = ""
    judges: Mapping[str, Judge] = field(default_factory=dict)
    note: str = ""
    """Addition to the certificate's note."""

    def digest_with(self, problem: Problem, results: Mapping[str, HostTensor]) -> str:
        """Return the digest of outputs of which ``results`` differ from these.

        Real numbers have none, since they differ between targets; so do the bits of a NaN.
        """
        left = {**self.tensors, **results}
        by_bits = {role: left[role] for role in left if role not in self.judges}
        return digest_of(problem, by_bits) if by_bits.keys() & results.keys() else self.digest

    def hold(self, run: LaunchResult) -> None:
        """Compare the outputs of a run byte for byte: those that differ are its results, in memory of this process.

        Writes to the padding between their rows are damage.
        """
        outputs, run.outputs = run.outputs, {}
        is_whole = not run.crash and not run.damage
        for role, expected in self.tensors.items():
            if role not in outputs and not is_whole:
                continue
            if same_bytes(outputs[role].storage.ctypes.data, expected.storage):
                continue
            result = run.results[role] = HostTensor(expected.tensor, outputs[role].storage.copy())
            gaps = _other_gaps(result, expected) if has_gaps(expected.tensor) else np.empty(0, np.intp)
            if gaps.size:
                sentence = f"the padding between the rows of {role} was written (index {gaps[0]} of its memory)"
                if _is_cleared(result, expected, gaps):
                    sentence += ": up to there all of it is 0, as where memory is cleared without regard to strides"
                run.damage = "; ".join(filter(None, [run.damage, sentence]))

    def settle(self, run: LaunchResult) -> None:
        """Drop results that differ from the reference in bits, but not by their judge."""
        for role, judge in self.judges.items():
            if role in run.results and not judge.outside(run.results[role].logical).any():
                del run.results[role]


def _is_cleared(result: HostTensor, reference: HostTensor, gaps: NDArray[np.intp]) -> bool:
    """Return whether all padding up to the last that was written is 0, though few results are."""
    dtype = result.tensor.dtype.bits
    end = int(gaps[-1]) + 1
    padding = np.ones(result.storage.view(dtype).size, np.bool_)
    padding[np.tensordot(result.tensor.strides, np.indices(result.tensor.lengths), 1)] = False
    is_whole = gaps.size == np.count_nonzero(padding[:end])
    few = 4 * np.count_nonzero(reference.bits) >= reference.bits.size
    return bool(is_whole and few and not result.storage.view(dtype)[gaps].any())


def _other_gaps(result: HostTensor, reference: HostTensor) -> NDArray[np.intp]:
    """Return indices of memory between the cells that differ from the reference's."""
    dtype = result.tensor.dtype.bits
    rest = HostTensor(result.tensor, result.storage.copy())
    rest.bits[...] = reference.bits
    return np.flatnonzero(rest.storage.view(dtype) != reference.storage.view(dtype))


ZEROS = "zeros"
"""A fill besides those of ``FILLS``: a result of zeros shows nothing, so it is never compared."""


def reference_kind(problem: Problem, certified: bool, states_order: bool) -> str:
    """Return what a result is held to by default: the exact reference where the data are ``certified``.

    Where the order of summation shows in the bits, only kernels that state theirs are compared by bits. Integers wrap:
    their sum is the same in any order.
    """
    if certified:
        return "exact"
    numerics = problem.operation.numerics
    is_float = any(problem.tensors[role].dtype.is_float for role in problem.outputs)
    if numerics.states_order and (states_order or not is_float):
        return "ordered"
    return "bounds" if is_float or numerics.form(problem) is None else "ordered"


def prepare_operands(problem: Problem, accumulation: Accumulation, fill: str, seed: int) -> tuple[Operands, int]:
    """Return the operands of a case, and their size in bytes. UsageError if their own operation refutes a claim."""
    if fill == ZEROS:
        return _zero_operands(problem, accumulation)
    plan = plan_fill(problem, accumulation, fill, seed)
    tensors = make_inputs(problem, plan)
    check_claim(problem, plan, tensors, accumulation)
    operands = Operands(tensors, lambda: measured_certificate(problem, plan, tensors, accumulation))
    return operands, sum(tensor.storage.nbytes for tensor in tensors.values())


def _zero_operands(problem: Problem, accumulation: Accumulation) -> tuple[Operands, int]:
    read = [name for name in problem.tensors if name not in problem.outputs]
    tensors = {name: HostTensor.empty(problem.tensors[name]) for name in read}
    for tensor in tensors.values():
        tensor.bits[...] = 0
    note = "all inputs are zero: every kernel gives the same bits"
    certificate = Certificate(0, accumulation.exact_range, 0.0, 0.0, holds=False, note=note)
    return Operands(tensors, lambda: certificate), sum(tensor.storage.nbytes for tensor in tensors.values())


Value = TypeVar("Value")


class ByteCache(Generic[Value]):
    """Values by key, at most ``limit`` bytes of them; the newest is kept however large it is."""

    def __init__(self, limit: int) -> None:
        self.limit = limit
        self._entries: OrderedDict[Hashable, tuple[Value, int]] = OrderedDict()
        self._bytes = 0

    def get(self, key: Hashable, make: Callable[[], tuple[Value, int]]) -> Value:
        """Return the value of the key; ``make`` returns it with its size in bytes if it is not cached."""
        entry = self._entries.get(key)
        if entry is None:
            entry = self._entries[key] = make()
            self._bytes += entry[1]
            while self._bytes > self.limit and len(self._entries) > 1:
                _, (_, size) = self._entries.popitem(last=False)
                self._bytes -= size
        else:
            self._entries.move_to_end(key)
        return entry[0]
