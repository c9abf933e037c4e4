"""Data, results and bounds that an operation's own code states, checked before they decide anything.

The checks find what would let a wrong kernel pass: an array that is stretched to the tensor's shape, numbers that its
type does not hold, NaN where an integer is wanted, a bound that admits everything.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bitgate.core.errors import NoBoundError, UsageError
from bitgate.model import Accumulation, Problem, ProblemError, Tensor, case_id
from bitgate.model.fill import Fill
from bitgate.model.host_tensor import HostTensor
from bitgate.numerics.bits import Array
from bitgate.numerics.rounding import rounded

Floats = NDArray[np.float64]


def stated_data(problem: Problem, fill: Fill, seed: int, roles: Iterable[str]) -> dict[str, HostTensor]:
    """Return what the operation's own fill makes for each role, rounded to its tensor's type.

    Raises UsageError for data that do not fit the tensors; where the fill claims bits, each number must be one of the
    type.
    """
    assert fill.make is not None
    make = fill.make
    what = f"fill '{fill.name}'"
    cells = _answer(problem, what, lambda: make(problem, seed), roles)
    hosts = {}
    for role in roles:
        values = _floats(problem, what, problem.tensors[role], cells[role])
        hosts[role] = host = _rounded_to(problem, what, role, values)
        with np.errstate(invalid="ignore"):
            kept = host.logical.astype(np.float64)
        lost = (kept != values) & ~(np.isnan(kept) & np.isnan(values))
        if fill.exact and lost.any():
            at, tensor = _first(lost), problem.tensors[role]
            text = (
                f"{tensor.dtype} does not hold {values[at]:g} of {role} at {list(at)}, and the fill claims exact bits"
            )
            raise _error(problem, what, text)
    return hosts


def defined(problem: Problem, cells: Mapping[str, Array]) -> dict[str, Floats]:
    """Return what the operation's own reference gives for each output.

    Raises UsageError if it leaves one out, or gives what cannot be one.
    """
    what = "reference"
    values = _answer(problem, what, lambda: problem.operation.reference(problem, cells), problem.outputs)
    return {role: _floats(problem, what, problem.tensors[role], values[role]) for role in problem.outputs}


def rounded_to(problem: Problem, role: str, values: Floats) -> HostTensor:
    """Return the output with these values, each rounded once. Raises UsageError for NaN among integers."""
    return _rounded_to(problem, "reference", role, values)


def stated_bounds(
    problem: Problem, cells: Mapping[str, Array], accumulation: Accumulation, values: Mapping[str, Floats]
) -> dict[str, Floats]:
    """Return how far cells of each output may be off; outputs that are left out are compared by bits.

    ``values`` are the reference's. Raises NoBoundError if the operation states none, UsageError for a bound that is no
    bound.
    """
    what, numerics = "bound", problem.operation.numerics
    stated = _answer(problem, what, lambda: numerics.bound(problem, cells, accumulation), (), may_be_none=True)
    if stated is None:
        raise NoBoundError(f"no bound stated: {problem.operation} does not state how far real numbers may be off")
    bounds = {}
    for role, slack in stated.items():
        if role not in problem.outputs:
            raise _error(problem, what, f"{role} is no output: {', '.join(problem.outputs)}")
        tensor = problem.tensors[role]
        if not tensor.dtype.is_float:
            text = f"{role} is of {tensor.dtype}, whose bits are right or wrong: leave it out"
            raise _error(problem, what, text)
        bounds[role] = cell = _floats(problem, what, tensor, slack)
        none = np.isfinite(values[role]) & ~(np.isfinite(cell) & (cell >= 0))
        if none.any():
            at = _first(none)
            text = f"{cell[at]:g} of {role} at {list(at)} bounds nothing: give finite numbers from 0 on"
            raise _error(problem, what, text)
    return bounds


def _answer(
    problem: Problem,
    what: str,
    compute: Callable[[], Mapping[str, Any] | None],
    roles: Iterable[str],
    may_be_none: bool = False,
) -> Any:
    try:
        answer = compute()
    except (UsageError, ProblemError, MemoryError):
        raise
    except Exception as error:  # a user's code: whatever it raises is reported, and is no verdict on a kernel
        raise _error(problem, what, f"{type(error).__name__}: {error}") from error
    if answer is None and may_be_none:
        return None
    if not isinstance(answer, Mapping):
        raise _error(problem, what, f"gives {type(answer).__name__}: give a mapping from roles to arrays")
    if missing := [role for role in roles if role not in answer]:
        raise _error(problem, what, f"gives no {', '.join(missing)}: give each")
    return answer


def _floats(problem: Problem, what: str, tensor: Tensor, values: Any) -> Floats:
    """Return real numbers in the tensor's shape; nothing is stretched to it."""
    array = np.asarray(values)
    if array.shape != tensor.lengths:
        answer = "x".join(map(str, array.shape)) or "a single number"
        raise _error(problem, what, f"gives {tensor.name} as {answer}, not as {'x'.join(map(str, tensor.lengths))}")
    if array.dtype.kind in "cOSUmM":
        raise _error(problem, what, f"gives {tensor.name} as {array.dtype}: give numbers")
    with np.errstate(invalid="ignore"):  # a signalling NaN becomes a quiet one
        return np.asarray(array, np.float64)


def _rounded_to(problem: Problem, what: str, role: str, values: Floats) -> HostTensor:
    tensor = problem.tensors[role]
    if not tensor.dtype.is_float and not np.isfinite(values).all():
        at = _first(~np.isfinite(values))
        raise _error(problem, what, f"{values[at]:g} of {role} at {list(at)} is no {tensor.dtype}")
    host = HostTensor.empty(tensor)
    host.logical[...] = rounded(values, tensor.dtype)
    return host


def _first(flags: NDArray[np.bool_]) -> tuple[int, ...]:
    return tuple(int(index) for index in np.argwhere(flags)[0])


def _error(problem: Problem, what: str, text: str) -> UsageError:
    return UsageError(f"{case_id(problem)}: the {what} of {problem.operation}: {text}")
