"""Digests of a tensor's bits: over logical elements without padding, the same for every layout and on every device."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from math import prod

from bitgate.model import Dtype, Problem, Tensor
from bitgate.model.host_tensor import HostTensor
from bitgate.numerics import counter, native

PREFIX = "bg1:"


def digest(host: HostTensor) -> str:
    """Return the digest of a tensor: ``bg1:`` and 32 hexadecimal digits."""
    return finish(native.digest_sums(host), host.tensor)


def digest_of(problem: Problem, outputs: Mapping[str, HostTensor]) -> str:
    """Return the digest of an only output; of several ``role=digest`` joined by commas, in the problem's order.

    ``outputs`` are those with one valid bit pattern: others have no digest. The result is empty if there are none.
    """
    return joined(problem, {role: digest(host) for role, host in outputs.items()})


def joined(problem: Problem, digests: Mapping[str, str]) -> str:
    """Join the digests of single outputs, by role, as ``digest_of`` does."""
    if len(problem.outputs) == 1:
        return next(iter(digests.values()), "")
    return ",".join(f"{role}={digests[role]}" for role in problem.outputs if role in digests)


MEASURED_ZEROS = 2**22
"""The most cells of a tensor whose digest of zeros is worth making."""


def digest_of_zeros(problem: Problem) -> str:
    """Return the digest of outputs that are zero throughout; empty for large ones."""
    tensors = {role: problem.tensors[role] for role in problem.outputs}
    if any(tensor.elements > MEASURED_ZEROS for tensor in tensors.values()):
        return ""
    return joined(problem, {role: _zeros(tensor.dtype, tensor.lengths) for role, tensor in tensors.items()})


@lru_cache(maxsize=4096)
def _zeros(dtype: Dtype, lengths: tuple[int, ...]) -> str:
    strides = tuple(prod(lengths[axis + 1 :]) for axis in range(len(lengths)))
    host = HostTensor.empty(Tensor("zeros", dtype, "", lengths, strides))
    host.bits[...] = 0
    return digest(host)


def finish(sums: tuple[int, int], tensor: Tensor) -> str:
    """Return the digest from the two sums, which a device may have computed, and the tensor's type and shape."""
    first, second = counter.digest_finish(sums, tensor.dtype.code, tensor.lengths)
    return f"{PREFIX}{first:016x}{second:016x}"
