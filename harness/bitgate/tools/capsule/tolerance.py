"""What a capsule says of cells that need not equal the expected result bit for bit, and the judge made of it again."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bitgate.core.errors import UsageError
from bitgate.model.host_tensor import HostTensor
from bitgate.numerics.rounding import largest
from bitgate.tools.capsule.manifest import BoundsSpec, File, NanClassSpec
from bitgate.verify.bounds import Bounds, Judge, NanClass
from bitgate.verify.poison import poison_bits

Tolerance = BoundsSpec | NanClassSpec | None


def saved(judge: Judge | None, reference: HostTensor, save: Callable[[str, NDArray[Any]], File]) -> Tolerance:
    """The manifest's entry for a judge; ``save`` puts an array into the capsule under a name that ends so."""
    if judge is None:
        return None
    if isinstance(judge, NanClass):
        return NanClassSpec(f"{judge.poison:#x}")
    assert isinstance(judge, Bounds)
    return BoundsSpec(
        value=save("_value.npy", judge.value),
        slack=save("_slack.npy", judge.slack),
        exact=save("_exact.npy", judge.exact.astype(np.uint8)),
        open=save("_open.npy", judge.open.astype(np.uint8)),
        nan=save("_nan.npy", judge.nan.astype(np.uint8)),
        largest=float(largest(reference.tensor.dtype)),
    )


def restored(tolerance: Tolerance, reference: HostTensor, load: Callable[[File], NDArray[Any]]) -> Judge | None:
    """The judge of a manifest's entry. UsageError if an array has another shape than the result."""
    dtype, lengths = reference.tensor.dtype, reference.tensor.lengths
    if tolerance is None:
        return None
    if isinstance(tolerance, NanClassSpec):
        return NanClass(reference.logical, poison_bits(dtype))
    files = (tolerance.value, tolerance.slack, tolerance.exact, tolerance.open, tolerance.nan)
    arrays = [load(file) for file in files]
    for array in arrays:
        if array.shape != lengths:
            raise UsageError(f"the bounds have shape {array.shape}, the result {lengths}: write the capsule again")
    value, slack = arrays[:2]
    exact, anything, nan = (array.astype(bool) for array in arrays[2:])
    return Bounds(value, slack, reference.logical, dtype, exact, anything, nan)
