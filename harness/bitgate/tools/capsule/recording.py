"""A run of a case on the host platform that records its launches, with pointers separated from values."""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass

from bitgate.kernel.abi import EventKind
from bitgate.kernel.build.code_object import Argument, KernelCode
from bitgate.kernel.dispatch import DispatchRecord, LaunchEvent
from bitgate.kernel.errors import KernelFailed
from bitgate.kernel.library import KernelLibrary
from bitgate.model import Problem
from bitgate.runtime.buffers import Buffer
from bitgate.runtime.device import Device
from bitgate.runtime.errors import HipError
from bitgate.tools.capsule.device_code import DeviceCode, DeviceUnit
from bitgate.tools.capsule.library_symbols import LibrarySymbols
from bitgate.tools.capsule.manifest import (
    ArgumentSpec,
    CapsuleDefect,
    CopyStep,
    HiddenArgument,
    Kernarg,
    KernelStep,
    MemsetStep,
    Place,
    Pointer,
    Resources,
    Step,
)
from bitgate.tools.capsule.matching import check
from bitgate.tools.capsule.memory import place_of
from bitgate.verify.running import WORKSPACE, pointers_of


@dataclass(frozen=True)
class RecordedStep:
    """A step as the capsule has it, and for a kernel its launch, code and unit."""

    step: Step
    launch: LaunchEvent
    kernel: KernelCode | None
    unit: DeviceUnit | None


@contextmanager
def waves_of(device: Device, lanes: int) -> Iterator[None]:
    """Set the host's default wave size, for instances that run on waves of any size."""
    assert device.host is not None
    before = device.attributes.wave_size
    device.host.set_wave_size(lanes)
    try:
        yield
    finally:
        device.host.set_wave_size(before)


def record(
    device: Device,
    library: KernelLibrary,
    problem: Problem,
    instance: str,
    options: dict[str, str],
    buffers: Mapping[str, Buffer],
    workspace_bytes: int,
    code: DeviceCode,
) -> list[RecordedStep]:
    """Run the case and return its steps. Raises CapsuleDefect for a launch that a capsule cannot describe."""
    found = dispatched(device, library, problem, instance, options, buffers, workspace_bytes)
    symbols = LibrarySymbols(library.path)
    return [_recorded(event, symbols, buffers, code) for event in found.events]


def dispatched(
    device: Device,
    library: KernelLibrary,
    problem: Problem,
    instance: str,
    options: dict[str, str],
    buffers: Mapping[str, Buffer],
    workspace_bytes: int,
) -> DispatchRecord:
    """Run the case and return what it launches. Raises CapsuleDefect unless every launch is known."""
    pointers = pointers_of(problem, buffers)
    workspace = (pointers.pop(WORKSPACE, 0), workspace_bytes)
    try:
        found = library.run(problem, instance, options, pointers, workspace, device.stream)
    except KernelFailed as error:
        raise CapsuleDefect(f"the launches cannot be recorded: {error}") from None
    try:
        device.synchronize()
    except HipError:
        device.clear_fault()  # the launches are recorded; replaying them shows the fault again
    if found.lost_events:
        raise CapsuleDefect(f"{found.lost_events} launches did not fit into the dispatch record")
    return found


def _recorded(
    event: LaunchEvent, symbols: LibrarySymbols, buffers: Mapping[str, Buffer], code: DeviceCode
) -> RecordedStep:
    if event.kind is EventKind.MEMSET:
        to = placed(buffers, event.address, event.name)
        return RecordedStep(MemsetStep(event.name, to, event.source & 0xFF, event.bytes), event, None, None)
    if event.kind is EventKind.COPY:
        to, source = (placed(buffers, address, event.name) for address in (event.address, event.source))
        return RecordedStep(CopyStep(event.name, to, source, event.bytes), event, None, None)
    unit, kernel = code.kernel(symbols.names(event.function))
    check(event, kernel, code.target)
    step = KernelStep(
        name=event.name,
        code_object=f"{unit.name}.co",
        symbol=kernel.symbol,
        descriptor=kernel.descriptor,
        grid=event.grid,
        grid_threads=(
            event.grid[0] * event.block[0],
            event.grid[1] * event.block[1],
            event.grid[2] * event.block[2],
        ),
        block=event.block,
        wave_size=kernel.wavefront,
        lds_dynamic=event.lds_bytes,
        lds_static=kernel.lds,
        kernarg=_kernarg(event, kernel, buffers),
        resources=Resources(kernel.vgprs, kernel.agprs, kernel.sgprs, kernel.scratch, kernel.max_workgroup),
        launcher=symbols.names(event.launcher)[0],
    )
    return RecordedStep(step, event, kernel, unit)


def _kernarg(event: LaunchEvent, kernel: KernelCode, buffers: Mapping[str, Buffer]) -> Kernarg:
    data, places = argument_places(event, buffers)
    data = data.ljust(kernel.kernarg_bytes, b"\0")
    pointers = [Pointer(offset, target) for offset, target in places.items()]
    hidden = tuple(hidden_argument(argument, event) for argument in kernel.arguments if argument.is_hidden)
    for argument in hidden:
        value = (argument.value or 0).to_bytes(argument.size, "little")
        data[argument.offset : argument.offset + argument.size] = value
    return Kernarg(
        bytes=len(data),
        explicit_bytes=kernel.explicit_bytes,
        alignment=kernel.kernarg_alignment,
        hex=data.hex(),
        arguments=tuple(ArgumentSpec(a.offset, a.size, a.kind) for a in kernel.explicit),
        pointers=tuple(pointers),
        hidden=hidden,
    )


def argument_places(event: LaunchEvent, buffers: Mapping[str, Buffer]) -> tuple[bytearray, dict[int, Place | None]]:
    """Return a launch's explicit arguments with zeros for pointers, and each pointer's place by offset (None: null)."""
    if event.args and not event.kernargs:
        raise CapsuleDefect(f"{event.name}: its arguments did not fit into the dispatch record")
    data, places = bytearray(event.kernargs), {}
    for number, (offset, size, is_pointer) in enumerate(event.args):
        if not is_pointer:
            _refuse_addresses(bytes(data[offset : offset + size]), f"{event.name}: argument {number}", buffers)
            continue
        (address,) = struct.unpack_from("<Q", data, offset)
        places[offset] = placed(buffers, address, f"{event.name}: argument {number}") if address else None
        data[offset : offset + 8] = bytes(8)
    return data, places


def placed(buffers: Mapping[str, Buffer], address: int, what: str) -> Place:
    """Return the place of an address of a launch. Raises CapsuleDefect if that is in none of the case's buffers."""
    place = place_of(address, buffers)
    if place is None:
        raise CapsuleDefect(f"{what} points into none of the case's buffers: pass such memory as workspace")
    return place


def _refuse_addresses(value: bytes, what: str, buffers: Mapping[str, Buffer]) -> None:
    """Raise CapsuleDefect for a pointer inside of a struct: it cannot be relocated, and the rules of a kernel forbid
    it."""
    for at in range(0, len(value) - 7, 4):
        (word,) = struct.unpack_from("<Q", value, at)
        place = place_of(word, buffers)
        if place is not None:
            raise CapsuleDefect(
                f"{what} holds the address of buffer {place.buffer} at byte {at}: a pointer must be a separate argument"
            )


_AXES = {"x": 0, "y": 1, "z": 2}
_BY_AXIS: dict[str, Callable[[LaunchEvent, int], int]] = {
    "hidden_block_count": lambda launch, axis: launch.grid[axis],
    "hidden_group_size": lambda launch, axis: launch.block[axis],
    "hidden_remainder": lambda launch, axis: 0,
    "hidden_global_offset": lambda launch, axis: 0,
}
_PLAIN: dict[str, Callable[[LaunchEvent], int]] = {
    "hidden_grid_dims": lambda launch: 3,
    "hidden_dynamic_lds_size": lambda launch: launch.lds_bytes,
    "hidden_none": lambda launch: 0,
}
_OF_THE_RUNTIME = {
    "hidden_printf_buffer": "the runtime's printf buffer",
    "hidden_hostcall_buffer": "the runtime's hostcall buffer",
    "hidden_multigrid_sync_arg": "the barrier of a cooperative launch over several devices",
    "hidden_heap_v1": "the device's heap for malloc and free",
    "hidden_default_queue": "the queue for launches by the device",
    "hidden_completion_action": "the completion of launches by the device",
    "hidden_private_base": "high half of the private aperture (before gfx9)",
    "hidden_shared_base": "high half of the shared aperture (before gfx9)",
    "hidden_queue_ptr": "the HSA queue",
}


def hidden_argument(argument: Argument, launch: LaunchEvent) -> HiddenArgument:
    """Return the value of a hidden argument in this launch, or a note where only a runtime knows it.

    A runtime adds hidden arguments by the kinds and places that the code object lists. Values are those of a HIP
    launch: whole blocks only, no global offset, a grid of three dimensions.
    """
    kind = argument.kind
    stem, _, axis = kind.rpartition("_")
    value: int | None = None
    note = ""
    if kind in _PLAIN:
        value = _PLAIN[kind](launch)
    elif stem in _BY_AXIS and axis in _AXES:
        value = _BY_AXIS[stem](launch, _AXES[axis])
    else:
        note = _OF_THE_RUNTIME.get(kind, "unknown to this version of bitgate")
    return HiddenArgument(argument.offset, argument.size, kind, value, note)
