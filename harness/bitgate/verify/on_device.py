"""One launch of a case whose data never leave the device: filled, compared and digested where they lie.

A green launch brings back a few numbers. What is wrong is told as far as those numbers say; the rest is seen by a
launch on uploaded data (running.py).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from time import perf_counter
from typing import Any

import numpy as np

from bitgate.device.buffers import Buffer
from bitgate.device.device import Device
from bitgate.device.errors import check
from bitgate.device.tools import Differences, Tools, differences_at, least, sums_at
from bitgate.errors import UsageError
from bitgate.exact import digest
from bitgate.exact.checksum import WeightPlan
from bitgate.exact.fill import FillPlan
from bitgate.operation import Problem, Tensor
from bitgate.operation.host_tensor import has_gaps
from bitgate.verify.compare import number
from bitgate.verify.guarded import Buffers
from bitgate.verify.poison import SCRATCH_BYTES, poison_bits
from bitgate.verify.running import WORKSPACE, How, Launch, Run, add_damage, execute


@dataclass(frozen=True)
class Wanted:
    """What a launch is held to: a digest, a reference in device memory, a checksum; any of them may be absent."""

    digest: str = ""
    reference: int = 0
    weights: WeightPlan | None = None
    checksum: int = 0


@dataclass(eq=False)
class DeviceRun(Run):
    """``doubt`` says in which way the result is not what was wanted, ``cells`` shows the first wrong ones."""

    doubt: str = ""
    digest: str = ""
    differences: Differences | None = None
    cells: tuple[dict[str, Any], ...] = ()


def run_on_device(device: Device, tools: Tools, launch: Launch, plan: FillPlan, how: How, wanted: Wanted) -> DeviceRun:
    """Fill, launch, look. HipError if memory runs out, KernelRefused if the library refuses now."""
    run = DeviceRun(how, seconds={"fill": 0.0, "kernel": 0.0, "compare": 0.0})
    with Buffers(device, how.placement) as buffers:
        started = perf_counter()
        before = _prepare(tools, launch, plan, buffers, how)
        device.synchronize()
        filled = perf_counter()
        how.arrange(device)
        execute(device, launch, buffers.named, run)
        ran = perf_counter()
        run.seconds["fill"], run.seconds["kernel"] = filled - started, ran - filled
        if not run.crash and not run.damage:
            _inspect(tools, launch.problem, buffers.named, before, wanted, run)
            if run.differences is not None and run.differences.count:
                run.cells = _first_cells(device, tools, launch.problem, buffers.named, wanted.reference)
            run.seconds["compare"] = perf_counter() - ran
    add_damage(run, buffers)
    return run


@dataclass(frozen=True, eq=False)
class DeviceReference:
    """The result of a trusted kernel, kept in device memory; free its buffer. ``seconds`` took the launch."""

    buffer: Buffer
    digest: str
    seconds: float


def reference_on_device(device: Device, tools: Tools, launch: Launch, plan: FillPlan) -> DeviceReference:
    """One launch of a kernel that is trusted. UsageError with what went wrong if it fails."""
    how = How("right", "forward" if device.host is not None else "")
    run = DeviceRun(how)
    buffers = Buffers(device, how.placement)
    kept: Buffer | None = None
    with buffers:
        before = _prepare(tools, launch, plan, buffers, how)
        how.arrange(device)
        device.synchronize()
        started = perf_counter()
        execute(device, launch, buffers.named, run)
        seconds = perf_counter() - started
        if not run.crash and not run.damage:
            _inspect(tools, launch.problem, buffers.named, before, Wanted(), run)
            kept = buffers.named.pop(launch.problem.result)
    if kept is None or run.damage or buffers.damage:
        if kept is not None:
            kept.free()
        what = run.crash or run.damage or buffers.damage
        raise UsageError(f"the reference kernel {launch.kernel} failed: {what}")
    return DeviceReference(kept, run.digest, seconds)


def _prepare(tools: Tools, launch: Launch, plan: FillPlan, buffers: Buffers, how: How) -> dict[str, int]:
    """Operands, poisoned result and workspace; for each operand the ticket of what its memory sums to."""
    tensors, problem = launch.problem.tensors, launch.problem
    tools.clear()
    before = {}
    shared = problem.in_place
    for name, fill in plan.tensors:
        if name not in shared:
            data = buffers.add(name, tensors[name].bytes).pointer
            tools.fill(data, tensors[name], fill, plan.seed)
            before[name] = tools.memory(data, tensors[name])
    result = tensors[problem.result]
    data = buffers.add(problem.result, result.bytes).pointer
    if shared:
        tools.fill(data, tensors[shared[0]], plan.of(shared[0]), plan.seed)
    else:
        tools.fill_bits(data, result, poison_bits(result.dtype, how.poison))
    if launch.workspace:
        buffers.add(WORKSPACE, launch.workspace).fill(SCRATCH_BYTES[how.poison])
    return before


def _inspect(
    tools: Tools,
    problem: Problem,
    buffers: Mapping[str, Buffer],
    before: Mapping[str, int],
    wanted: Wanted,
    run: DeviceRun,
) -> None:
    result = problem.tensors[problem.result]
    data = buffers[problem.result].pointer
    digested = tools.digest(data, result)
    compared = tools.differences(data, wanted.reference, result) if wanted.reference else None
    weighed = tools.weighted_sum(data, result, wanted.weights) if wanted.weights else None
    gaps = tools.gaps(data, result) if has_gaps(result) else None
    after = {name: tools.memory(buffers[name].pointer, problem.tensors[name]) for name in before}
    guards = tools.guards(list(buffers.values()))
    answers = tools.read()

    run.digest = digest.finish(sums_at(answers, digested), result)
    damages = [damage.text for buffer in buffers.values() if answers[guards] and (damage := buffer.check_guards())]
    changed = [name for name, ticket in before.items() if sums_at(answers, ticket) != sums_at(answers, after[name])]
    damages += [f"input {name} was changed" for name in changed]
    if gaps is not None and answers[gaps]:
        index = least(answers[gaps + 1])
        damages.append(f"a gap between the rows of {problem.result} was written (index {index} of its memory)")
    run.damage = "; ".join(damages)
    if compared is not None:
        run.differences = differences_at(answers, compared)
    run.doubt = _doubt(result, wanted, run, None if weighed is None else sums_at(answers, weighed))


def _doubt(result: Tensor, wanted: Wanted, run: DeviceRun, weighed: tuple[int, int] | None) -> str:
    found = run.differences
    if found is not None and found.count:
        at = tuple(int(i) for i in np.unravel_index(found.first, result.lengths))
        return (
            f"{found.count} of {result.elements} cells of {result.name} differ from the GPU reference,"
            f" the first at {at}; the largest difference is {found.largest:g}"
        )
    if weighed is not None and weighed != (wanted.checksum, 0):
        fractions = f", {weighed[1]} cells are no integers" if weighed[1] else ""
        return (
            f"the checksum identity does not hold: the result sums to {weighed[0]} under the weights, its operands to"
            f" {wanted.checksum}{fractions}"
        )
    if wanted.digest and run.digest != wanted.digest:
        return f"the result's digest is {run.digest}, not {wanted.digest}"
    return ""


def _first_cells(
    device: Device, tools: Tools, problem: Problem, buffers: Mapping[str, Buffer], reference: int, limit: int = 10
) -> tuple[dict[str, Any], ...]:
    """The first wrong cells, one look at the rest of the tensor each."""
    tensor = problem.tensors[problem.result]
    data = buffers[problem.result].pointer
    rows: list[dict[str, Any]] = []
    begin = 0
    while len(rows) < limit:
        tools.clear()
        ticket = tools.differences(data, reference, tensor, begin)
        found = differences_at(tools.read(), ticket)
        if not found.count:
            break
        at = tuple(int(i) for i in np.unravel_index(found.first, tensor.lengths))
        offset = sum(i * stride for i, stride in zip(at, tensor.strides, strict=True)) * tensor.dtype.bytes
        ours, theirs = (_element(device, base + offset, tensor) for base in (data, reference))
        rows.append({"at": list(at), "result": ours, "reference": theirs})
        begin = found.first + 1
    return tuple(rows)


def _element(device: Device, address: int, tensor: Tensor) -> float | int | str:
    cell = np.empty(1, tensor.dtype.numpy)
    kind = device.hip.hipMemcpyKind.hipMemcpyDeviceToHost
    check(device.hip.hipMemcpy(cell.ctypes.data, address, cell.nbytes, kind), "hipMemcpy")
    return number(cell[0])
