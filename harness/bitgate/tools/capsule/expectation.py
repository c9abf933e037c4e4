"""The expected results of a capsule, from its files alone: nothing of its case is computed again."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bitgate.core.errors import UsageError
from bitgate.model import Problem, ProblemError, parse_case_id
from bitgate.model.host_tensor import HostTensor
from bitgate.numerics.digest import digest
from bitgate.numerics.rounding import largest
from bitgate.tools.capsule.folder import Capsule
from bitgate.tools.capsule.manifest import BoundsSpec, BufferSpec, ExpectedResult, File, NanClassSpec
from bitgate.tools.capsule.memory import Bytes, as_bytes, image, tensor_of
from bitgate.verify.bounds import Bounds, Judge, NanClass
from bitgate.verify.compare_outputs import OutputExpectation
from bitgate.verify.poison import poison_bits
from bitgate.verify.problem_data import Reference


def expectation_of(capsule: Capsule) -> OutputExpectation:
    """Return what the outputs are compared with.

    Raises UsageError unless every tensor of the case has its buffer, and every output an expected result.
    """
    manifest = capsule.manifest
    try:
        problem = parse_case_id(manifest.case)
    except ProblemError as error:
        raise UsageError(f"{capsule.folder}: {error}") from None
    stated = {expected.buffer: expected for expected in manifest.expected}
    if set(stated) != set(problem.outputs):
        written, wanted = ", ".join(problem.outputs), ", ".join(stated)
        raise UsageError(f"{capsule.folder}: the case writes {written}, the capsule expects {wanted}")
    tensors: dict[str, HostTensor] = {}
    judges: dict[str, Judge] = {}
    for role in problem.outputs:
        _spec_of(capsule, problem, role)
        tensors[role] = _expected(capsule, problem, stated[role])
        judge = restored(stated[role].tolerance, tensors[role], capsule.array)
        if judge is not None:
            judges[role] = judge
    reference = Reference(tensors, manifest.expected[0].reference, manifest.digest, judges)
    return OutputExpectation(problem, _inputs(capsule, problem), reference, None)


def images_of(capsule: Capsule) -> dict[str, Bytes]:
    """Return the contents of each buffer before the first step."""
    return {spec.name: _image(capsule, spec) for spec in capsule.manifest.buffers}


def _expected(capsule: Capsule, problem: Problem, expected: ExpectedResult) -> HostTensor:
    found = _tensor(capsule, problem, expected.buffer, as_bytes(capsule.array(expected.content)))
    if expected.tolerance is None and digest(found) != expected.digest:
        raise UsageError(
            f"{capsule.folder / expected.content.file} does not have the digest that the manifest states"
            f" ({expected.digest}): write the capsule again"
        )
    return found


def _inputs(capsule: Capsule, problem: Problem) -> dict[str, HostTensor]:
    """Return the inputs by name; one that shares the result's buffer is what that buffer begins with."""
    read = [name for name in problem.tensors if name not in problem.outputs]
    return {name: _tensor(capsule, problem, name, _image(capsule, _spec_of(capsule, problem, name))) for name in read}


def _spec_of(capsule: Capsule, problem: Problem, name: str) -> BufferSpec:
    """Return the buffer that holds a tensor of the case."""
    own = capsule.manifest.buffer(name)
    shares = own is None and name in problem.in_place
    spec = capsule.manifest.buffer(problem.result) if shares else own
    role = "output" if shares or name in problem.outputs else "input"
    if spec is None:
        raise UsageError(f"{capsule.folder}: the case's tensor {name} has no buffer")
    if spec.role != role or spec.bytes != problem.tensors[name].bytes:
        raise UsageError(
            f"{capsule.folder}: buffer {spec.name} ({spec.role}, {spec.bytes} bytes) is not the case's tensor {name}"
            f" ({role}, {problem.tensors[name].bytes} bytes)"
        )
    return spec


def _tensor(capsule: Capsule, problem: Problem, name: str, data: Bytes) -> HostTensor:
    if data.nbytes != problem.tensors[name].bytes:
        raise UsageError(f"{capsule.folder}: the case has no tensor {name} of {data.nbytes} bytes")
    return tensor_of(problem.tensors[name], data)


def _image(capsule: Capsule, spec: BufferSpec) -> Bytes:
    return image(spec, capsule.contents.get(spec.name))


Tolerance = BoundsSpec | NanClassSpec | None


def saved(judge: Judge | None, reference: HostTensor, save: Callable[[str, NDArray[Any]], File]) -> Tolerance:
    """Return the manifest's entry for a judge.

    ``save`` puts an array into the capsule under a name with the given ending.
    """
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
    """Return the judge of a manifest's entry. Raises UsageError if an array has another shape than the result."""
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
