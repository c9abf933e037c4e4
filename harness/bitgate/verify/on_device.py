"""One launch of a case whose data stay on the device: they are filled, compared and digested in place.

A green launch brings back a few numbers. A wrong one is reported as far as those numbers go; the rest is seen by a
launch on uploaded data (running.py).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from time import perf_counter
from typing import Any

import numpy as np

from bitgate.core.errors import UsageError
from bitgate.model import Problem, Tensor
from bitgate.model.host_tensor import HostTensor, has_gaps
from bitgate.numerics import digest
from bitgate.numerics.checksum import WeightPlan
from bitgate.numerics.fill import FillPlan
from bitgate.runtime.buffers import Buffer
from bitgate.runtime.device import Device
from bitgate.runtime.tools import DeviceDifferences, Tools, differences_at, least, sums_at
from bitgate.verify.compare_outputs import number
from bitgate.verify.guarded import Buffers
from bitgate.verify.poison import SCRATCH_BYTES, poison_bits
from bitgate.verify.running import WORKSPACE, Launch, LaunchConfig, LaunchResult, add_damage, execute


@dataclass(frozen=True)
class LaunchExpectation:
    """The references that a launch is held to: a digest of the outputs, references in device memory by role, a
    checksum. Any of them may be absent."""

    digest: str = ""
    references: Mapping[str, int] = field(default_factory=dict)
    weights: WeightPlan | None = None
    checksum: int = 0


@dataclass(eq=False)
class DeviceLaunchResult(LaunchResult):
    """The result of a launch that was judged on the device; ``disagreement`` says how it differs from what was
    expected. ``differences`` are those of the first output that has any, ``wrong``; ``cells`` lists its first wrong
    cells."""

    disagreement: str = ""
    digest: str = ""
    wrong: str = ""
    differences: DeviceDifferences | None = None
    cells: tuple[dict[str, Any], ...] = ()


@dataclass(frozen=True)
class DeviceData:
    """The source of the operands: a plan, by which tools make them on the device, or tensors that were ``made`` already
    since only the operation can make them."""

    plan: FillPlan
    made: Mapping[str, HostTensor] | None = None

    def put(self, tools: Tools, buffer: Buffer, tensor: Tensor) -> None:
        """Fill the buffer of an operand."""
        if self.made is None:
            tools.fill(buffer.pointer, tensor, self.plan.of(tensor.name), self.plan.seed)
        else:
            buffer.upload(self.made[tensor.name].storage)


def run_on_device(
    device: Device, tools: Tools, launch: Launch, data: DeviceData, config: LaunchConfig, expected: LaunchExpectation
) -> DeviceLaunchResult:
    """Fill, launch and inspect. Raises HipError if memory runs out, KernelRefused if the library refuses now."""
    run = DeviceLaunchResult(config, seconds={"fill": 0.0, "kernel": 0.0, "compare": 0.0})
    with Buffers(device, config.placement) as buffers:
        started = perf_counter()
        before = _prepare(tools, launch, data, buffers, config)
        config.arrange(device)
        execute(device, launch, buffers.named, run)
        ran = perf_counter()
        run.seconds["fill"], run.seconds["kernel"] = run.began - started, ran - run.began
        if not run.crash and not run.damage:
            _inspect(tools, launch.problem, buffers.named, before, expected, run)
            if run.wrong:
                run.cells = _first_cells(device, tools, launch.problem.tensors[run.wrong], buffers.named, expected)
            run.seconds["compare"] = perf_counter() - ran
    add_damage(run, buffers)
    return run


@dataclass(frozen=True, eq=False)
class DeviceReference:
    """The outputs of a trusted kernel, kept in device memory until ``free``; the launch took ``seconds``."""

    buffers: Mapping[str, Buffer]
    digest: str
    seconds: float

    def free(self) -> None:
        for buffer in self.buffers.values():
            buffer.free()


def reference_on_device(device: Device, tools: Tools, launch: Launch, data: DeviceData) -> DeviceReference:
    """Launch a trusted kernel once and return its outputs. Raises UsageError with what went wrong if it fails."""
    config = LaunchConfig("right", "forward" if device.host is not None else "")
    run = DeviceLaunchResult(config)
    buffers = Buffers(device, config.placement)
    kept: dict[str, Buffer] = {}
    with buffers:
        before = _prepare(tools, launch, data, buffers, config)
        config.arrange(device)
        device.synchronize()
        started = perf_counter()
        execute(device, launch, buffers.named, run)
        seconds = perf_counter() - started
        if not run.crash and not run.damage:
            _inspect(tools, launch.problem, buffers.named, before, LaunchExpectation(), run)
            kept = {role: buffers.named.pop(role) for role in launch.problem.outputs}
    reference = DeviceReference(kept, run.digest, seconds)
    if not kept or run.damage or buffers.damage:
        reference.free()
        what = run.crash or run.damage or buffers.damage
        raise UsageError(f"the reference kernel {launch.kernel} failed: {what}")
    return reference


def _prepare(tools: Tools, launch: Launch, data: DeviceData, buffers: Buffers, config: LaunchConfig) -> dict[str, int]:
    """Fill operands, and poison outputs and workspace, between guards; return for each operand the ticket of the sum
    over its memory."""
    tools.clear()
    with tools.together():
        return _put(tools, launch, data, buffers, config)


def _put(tools: Tools, launch: Launch, data: DeviceData, buffers: Buffers, config: LaunchConfig) -> dict[str, int]:
    tensors, problem = launch.problem.tensors, launch.problem
    before = {}
    shared = problem.in_place
    for name, _ in data.plan.tensors:
        if name not in shared:
            buffer = buffers.add(name, tensors[name].bytes, guarded=False)
            data.put(tools, buffer, tensors[name])
            before[name] = tools.memory(buffer.pointer, tensors[name], untouched=True)
    for role in problem.outputs:
        buffer, output = buffers.add(role, tensors[role].bytes, guarded=False), tensors[role]
        if shared and role == problem.result:
            data.put(tools, buffer, tensors[shared[0]])
        else:
            tools.fill_bits(buffer.pointer, output, poison_bits(output.dtype, config.poison))
    if launch.workspace:
        buffers.add(WORKSPACE, launch.workspace, guarded=False).fill(SCRATCH_BYTES[config.poison])
    tools.guard(list(buffers.named.values()))
    return before


def _inspect(
    tools: Tools,
    problem: Problem,
    buffers: Mapping[str, Buffer],
    before: Mapping[str, int],
    expected: LaunchExpectation,
    run: DeviceLaunchResult,
) -> None:
    outputs = {role: (buffers[role].pointer, problem.tensors[role]) for role in problem.outputs}
    with tools.together():
        digested = {role: tools.digest(*at) for role, at in outputs.items()}
        compared = {
            role: tools.differences(outputs[role][0], reference, outputs[role][1])
            for role, reference in expected.references.items()
        }
        weighed = tools.weighted_sum(*outputs[problem.result], expected.weights) if expected.weights else None
        gaps = {role: tools.gaps(*at) for role, at in outputs.items() if has_gaps(at[1])}
        after = {name: tools.memory(buffers[name].pointer, problem.tensors[name]) for name in before}
        guards = tools.guards(list(buffers.values()))
    answers = tools.read()

    digests = {role: digest.finish(sums_at(answers, at), problem.tensors[role]) for role, at in digested.items()}
    run.digest = digest.joined(problem, digests)
    damages = [damage.text for buffer in buffers.values() if answers[guards] and (damage := buffer.check_guards())]
    changed = [name for name, ticket in before.items() if sums_at(answers, ticket) != sums_at(answers, after[name])]
    damages += [f"input {name} was changed" for name in changed]
    for role, ticket in gaps.items():
        if answers[ticket]:
            index = least(answers[ticket + 1])
            damages.append(f"the padding between the rows of {role} was written (index {index} of its memory)")
    run.damage = "; ".join(damages)
    found = {role: differences_at(answers, ticket) for role, ticket in compared.items()}
    run.wrong = next((role for role in problem.outputs if role in found and found[role].count), "")
    if found:
        run.differences = found[run.wrong or problem.result]
    run.disagreement = _disagreement(problem, expected, run, None if weighed is None else sums_at(answers, weighed))


def _disagreement(
    problem: Problem, expected: LaunchExpectation, run: DeviceLaunchResult, weighed: tuple[int, int] | None
) -> str:
    found = run.differences
    if run.wrong and found is not None:
        output = problem.tensors[run.wrong]
        at = tuple(int(i) for i in np.unravel_index(found.first, output.lengths))
        return (
            f"{found.count} of {output.elements} cells of {output.name} differ from the GPU reference,"
            f" the first at {at}; the largest difference is {found.largest:g}"
        )
    if weighed is not None and weighed != (expected.checksum, 0):
        fractions = f", {weighed[1]} cells are no integers" if weighed[1] else ""
        return (
            f"the checksum identity does not hold: the result sums to {weighed[0]} under the weights, its operands to"
            f" {expected.checksum}{fractions}"
        )
    if expected.digest and run.digest != expected.digest:
        return f"the result's digest is {run.digest}, not {expected.digest}"
    return ""


def _first_cells(
    device: Device,
    tools: Tools,
    tensor: Tensor,
    buffers: Mapping[str, Buffer],
    expected: LaunchExpectation,
    limit: int = 10,
) -> tuple[dict[str, Any], ...]:
    """Return the first wrong cells of an output; each takes one comparison of the rest of the tensor."""
    data, reference = buffers[tensor.name].pointer, expected.references[tensor.name]
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
    device.copy_out(cell.ctypes.data, address, cell.nbytes)
    return number(cell[0])
