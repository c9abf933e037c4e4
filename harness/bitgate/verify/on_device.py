"""One launch of a case whose data stay on the device: they are filled, compared and digested in place.

A green launch brings back a few numbers. A wrong one is reported as far as those numbers go; the rest is seen by a
launch on uploaded data (running.py).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from time import perf_counter
from typing import Any

import numpy as np

from bitgate.model import Problem, Tensor
from bitgate.model.host_tensor import HostTensor, has_gaps
from bitgate.model.memory_runs import Runs
from bitgate.numerics import digest
from bitgate.numerics.checksum import WeightPlan
from bitgate.numerics.fill import FillPlan
from bitgate.runtime.buffers import Buffer
from bitgate.runtime.device import Device, DeviceMemory
from bitgate.runtime.tools import DeviceDifferences, Tools, differences_at, least, sums_at
from bitgate.verify.compare_outputs import number
from bitgate.verify.guarded import Buffers
from bitgate.verify.launcher import NoReference
from bitgate.verify.memory import parts_with_memory
from bitgate.verify.poison import SCRATCH_BYTES, poison_bits
from bitgate.verify.running import (
    WORKSPACE,
    KernelWork,
    LaunchConfig,
    LaunchResult,
    add_damage,
    execute,
    poison_scratch,
)


@dataclass(eq=False)
class DeviceLaunchResult(LaunchResult):
    """The result of a launch whose data stayed on the device: the ``digest`` of its outputs, or these themselves.

    ``weighed`` is the checksum's sum, with the number of cells that are no integers. ``disagreement`` is for those who
    know what was expected. ``differences`` are those of the first output that has any, ``wrong``; ``cells`` lists its
    first wrong cells.
    """

    digest: str = ""
    weighed: tuple[int, int] | None = None
    disagreement: str = ""
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


@dataclass(frozen=True)
class DeviceWork:
    """The order for launches on data of the device: the data, and the part of the results that comes back.

    Either a digest, or with ``brings_outputs`` the outputs; with ``weights`` a checksum too. ``as_kernels``: the tools
    themselves run on the device.
    """

    data: DeviceData
    weights: WeightPlan | None = None
    as_kernels: bool = False
    brings_outputs: bool = False


def run_on_device(
    device: Device,
    tools: Tools,
    work: KernelWork,
    asked: DeviceWork,
    config: LaunchConfig,
    outputs: Mapping[str, HostTensor],
) -> DeviceLaunchResult:
    """Fill, launch and inspect. Raises HipError if memory runs out, KernelRefused if the library refuses now."""
    return _launched(device, tools, work, asked, config, outputs, None)


def compare_on_device(
    device: Device, tools: Tools, work: KernelWork, trusted: KernelWork, data: DeviceData, config: LaunchConfig
) -> DeviceLaunchResult:
    """Launch as ``run_on_device``, and compare the outputs with those of a trusted kernel, cell by cell."""
    with _kept_outputs(device, tools, trusted, data) as (buffers, _):
        references = {role: buffer.pointer for role, buffer in buffers.items()}
        return _launched(device, tools, work, DeviceWork(data), config, {}, references)


def sums_on_device(device: Device, tools: Tools, problem: Problem, plan: FillPlan) -> dict[str, tuple[int, int]]:
    """Return the sums of the operands by role, filled and summed on the device one by one. Raises HipError."""
    found, parts = {}, _parts(device, problem)
    for role, own in plan.tensors:
        tensor = problem.tensors[role]
        with device.alloc(tensor.bytes, name=role, runs=parts.get(role)) as buffer:
            tools.clear()
            tools.fill(buffer.pointer, tensor, own, plan.seed)
            ticket = tools.digest(buffer.pointer, tensor)
            found[role] = sums_at(tools.read(), ticket)
    return found


def digest_on_device(device: Device, tools: Tools, trusted: KernelWork, data: DeviceData) -> str:
    """Launch a trusted kernel once and return its outputs' digest. Raises NoReference with what went wrong."""
    with _kept_outputs(device, tools, trusted, data) as (_, found):
        return found


def _launched(
    device: Device,
    tools: Tools,
    work: KernelWork,
    asked: DeviceWork,
    config: LaunchConfig,
    outputs: Mapping[str, HostTensor],
    references: Mapping[str, int] | None,
) -> DeviceLaunchResult:
    run = DeviceLaunchResult(config, seconds={"fill": 0.0, "kernel": 0.0, "compare": 0.0})
    with Buffers(device, config.placement) as buffers:
        started = perf_counter()
        before = _prepare(device, tools, work, asked.data, buffers, config)
        config.arrange(device)
        execute(device, work, buffers.named, run)
        ran = perf_counter()
        run.seconds["fill"], run.seconds["kernel"] = run.began - started, ran - run.began
        if not run.crash and not run.damage:
            if asked.brings_outputs:
                for role, output in outputs.items():
                    buffers.named[role].download(output.storage)
                run.outputs = dict(outputs)
            _inspect(tools, work.problem, buffers.named, before, asked, run, references or {})
            if references and run.wrong:
                run.cells = _first_cells(device, tools, work.problem.tensors[run.wrong], buffers.named, references)
            run.seconds["compare"] = perf_counter() - ran
    add_damage(run, buffers)
    return run


@contextmanager
def _kept_outputs(
    device: Device, tools: Tools, trusted: KernelWork, data: DeviceData
) -> Iterator[tuple[Mapping[str, Buffer], str]]:
    """Keep the outputs of a trusted kernel in device memory, with their digest. Raises NoReference if it fails."""
    config = LaunchConfig("right", "forward" if device.host is not None else "")
    run = DeviceLaunchResult(config)
    buffers = Buffers(device, config.placement)
    kept: dict[str, Buffer] = {}
    try:
        with buffers:
            before = _prepare(device, tools, trusted, data, buffers, config)
            config.arrange(device)
            device.synchronize()
            execute(device, trusted, buffers.named, run)
            if not run.crash and not run.damage:
                _inspect(tools, trusted.problem, buffers.named, before, DeviceWork(data), run, {})
                kept = {role: buffers.named.pop(role) for role in trusted.problem.outputs}
        if what := run.crash or run.damage or buffers.damage:
            raise NoReference(f"the reference kernel {trusted.kernel} failed: {what}")
        yield kept, run.digest
    finally:
        for buffer in kept.values():
            buffer.free()


def _prepare(
    device: Device, tools: Tools, work: KernelWork, data: DeviceData, buffers: Buffers, config: LaunchConfig
) -> dict[str, int]:
    """Fill operands, and poison outputs and workspace, between guards; return for each operand the ticket of the sum
    over its memory."""
    tools.clear()
    parts = _parts(device, work.problem)
    with tools.together():
        return _put(tools, work, data, buffers, config, parts)


def _put(
    tools: Tools,
    work: KernelWork,
    data: DeviceData,
    buffers: Buffers,
    config: LaunchConfig,
    parts: Mapping[str, Runs],
) -> dict[str, int]:
    tensors, problem = work.problem.tensors, work.problem

    def add(name: str) -> Buffer:
        return buffers.add(name, tensors[name].bytes, guarded=False, runs=parts.get(name))

    before = {}
    shared = problem.in_place
    for name, _ in data.plan.tensors:
        if name not in shared:
            buffer = add(name)
            data.put(tools, buffer, tensors[name])
            before[name] = tools.memory(buffer.pointer, tensors[name], untouched=True)
    for role in problem.outputs:
        buffer, output = add(role), tensors[role]
        if shared and role == problem.result:
            data.put(tools, buffer, tensors[shared[0]])
        else:
            tools.fill_bits(buffer.pointer, output, poison_bits(output.dtype, config.poison))
    if work.workspace:
        poison_scratch(buffers.add(WORKSPACE, work.workspace, guarded=False), SCRATCH_BYTES[config.poison])
    tools.guard(list(buffers.named.values()))
    return before


def _parts(device: Device, problem: Problem) -> Mapping[str, Runs]:
    on_host = device.host is not None
    return parts_with_memory(problem, DeviceMemory(0, device.total_memory, device.maps_parts), on_host)


def _inspect(
    tools: Tools,
    problem: Problem,
    buffers: Mapping[str, Buffer],
    before: Mapping[str, int],
    asked: DeviceWork,
    run: DeviceLaunchResult,
    references: Mapping[str, int],
) -> None:
    outputs = {role: (buffers[role].pointer, problem.tensors[role]) for role in problem.outputs}
    with tools.together():
        digested = {} if asked.brings_outputs else {role: tools.digest(*at) for role, at in outputs.items()}
        compared = {
            role: tools.differences(outputs[role][0], reference, outputs[role][1])
            for role, reference in references.items()
        }
        weighed = tools.weighted_sum(*outputs[problem.result], asked.weights) if asked.weights else None
        gaps = {role: tools.gaps(*at) for role, at in outputs.items() if has_gaps(at[1])}
        after = {name: tools.memory(buffers[name].pointer, problem.tensors[name]) for name in before}
        guards = tools.guards(list(buffers.values()))
    answers = tools.read()

    if digested:
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
    run.weighed = None if weighed is None else sums_at(answers, weighed)
    found = {role: differences_at(answers, ticket) for role, ticket in compared.items()}
    run.wrong = next((role for role in problem.outputs if role in found and found[role].count), "")
    if found:
        run.differences = found[run.wrong or problem.result]


def _first_cells(
    device: Device,
    tools: Tools,
    tensor: Tensor,
    buffers: Mapping[str, Buffer],
    references: Mapping[str, int],
    limit: int = 10,
) -> tuple[dict[str, Any], ...]:
    """Return the first wrong cells of an output; each takes one comparison of the rest of the tensor."""
    data, reference = buffers[tensor.name].pointer, references[tensor.name]
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
