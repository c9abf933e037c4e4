"""Execution of a capsule's steps on a device: memsets and copies by HIP, kernels by the platform's player."""

from __future__ import annotations

import re
import struct
from collections.abc import Callable, Mapping, Sequence
from ctypes import CFUNCTYPE, POINTER, c_char_p, c_int32, c_void_p
from dataclasses import dataclass
from typing import Protocol

from bitgate.core.errors import UsageError
from bitgate.kernel.abi import CLaunch, EventKind
from bitgate.kernel.declaration import KernelFamily
from bitgate.kernel.runner import LibraryState
from bitgate.runtime.buffers import Buffer
from bitgate.runtime.device import Device
from bitgate.runtime.errors import check, hip_error
from bitgate.tools.capsule.library_symbols import LibrarySymbols
from bitgate.tools.capsule.manifest import BufferSpec, Kernarg, KernelStep, MemsetStep, Step
from bitgate.tools.capsule.memory import Bytes, address_of, upload
from bitgate.verify.compare_outputs import Judgement, OutputExpectation, judge_harm, judge_outputs
from bitgate.verify.running import LaunchConfig, blank_outputs, run_prepared


class Player(Protocol):
    """A starter of kernels, given the bytes of an argument segment with every pointer in its place and a HIP stream."""

    def launch(self, step: KernelStep, kernargs: bytes, stream: int) -> None: ...


@dataclass(frozen=True, eq=False)
class Playback:
    """Steps as work for a device, in order on its stream. ``after`` is called with each kernel once it has ended."""

    device: Device
    player: Player
    steps: Sequence[Step]
    family: KernelFamily
    conduct: LibraryState
    after: Callable[[KernelStep], None] | None = None
    subject: object = None

    def start(self, buffers: Mapping[str, Buffer], stream: int) -> None:
        hip = self.device.hip
        for step in self.steps:
            if isinstance(step, KernelStep):
                self.player.launch(step, relocated(step.kernarg, buffers), stream)
                if self.after is not None:
                    self.device.synchronize()
                    self.after(step)
            elif isinstance(step, MemsetStep):
                to = address_of(step.destination, buffers)
                check(hip.hipMemsetAsync(to, step.value, step.bytes, stream), "hipMemsetAsync")
            else:
                to, source = address_of(step.destination, buffers), address_of(step.source, buffers)
                kind = hip.hipMemcpyKind.hipMemcpyDeviceToDevice
                check(hip.hipMemcpyAsync(to, source, step.bytes, kind, stream), "hipMemcpyAsync")


def play(
    playback: Playback, specs: Sequence[BufferSpec], images: Mapping[str, Bytes], expectation: OutputExpectation
) -> Judgement:
    """Run the steps on fresh memory and judge the results. Raises HipError if there is no memory left."""
    device = playback.device
    how = LaunchConfig("right", "forward" if device.host is not None else "")
    reference = expectation.reference
    run = run_prepared(
        device,
        playback,
        lambda buffers: upload(buffers, specs, images),
        expectation.inputs,
        blank_outputs(expectation.problem),
        how,
    )
    reference.hold(run)
    reference.settle(run)
    return judge_harm(run) or judge_outputs(expectation, [run])


def relocated(kernarg: Kernarg, buffers: Mapping[str, Buffer]) -> bytes:
    """Return the argument segment with the current addresses of the buffers."""
    data = kernarg.data
    for pointer in kernarg.pointers:
        if pointer.target is not None:
            struct.pack_into("<Q", data, pointer.offset, address_of(pointer.target, buffers))
    return bytes(data)


MAX_KERNARG_BYTES = 4096
"""Limit that kernels/include/bitgate/launch.hpp sets for every kernel."""

_RELAUNCH = re.compile(r"_ZN7bitgate6detail8relaunchI\w+EEiPK14bitgate_launch(PKh|S[0-9A-Z]*_)Pv")
"""The mangled name. A pointer to bytes, by which arguments are passed, is an S..._ if the kernel takes one, too."""


def is_launcher(symbol: str) -> bool:
    """Say whether a symbol is ``bitgate::detail::relaunch`` of some kernel's parameters."""
    return _RELAUNCH.fullmatch(symbol) is not None


def is_kernel(symbol: str) -> bool:
    """Say whether a symbol might be a kernel: a C++ function that is not one of the library's launchers."""
    return re.fullmatch(r"_Z\w+", symbol) is not None and not symbol.startswith("_ZN7bitgate6detail")


_LAUNCHER = CFUNCTYPE(c_int32, POINTER(CLaunch), c_char_p, c_void_p)


class LibraryPlayer:
    """A player of kernels that are functions of a library: on the host, and where the CUDA runtime registered them.

    Raises UsageError for a kernel that the library does not have, and for a symbol that is not a launcher: names come
    from a file.
    """

    def __init__(self, symbols: LibrarySymbols) -> None:
        self._symbols = symbols

    def launch(self, step: KernelStep, kernargs: bytes, stream: int) -> None:
        for name, fits in ((step.launcher, is_launcher(step.launcher)), (step.symbol, is_kernel(step.symbol))):
            if not fits:
                raise UsageError(f"{name[:200]!r} is neither a launcher nor a kernel of {self._symbols.path.name}")
        # A launcher reads as many bytes as its kernel takes, whatever a manifest says.
        explicit = kernargs[: step.kernarg.explicit_bytes].ljust(MAX_KERNARG_BYTES, b"\0")
        event = CLaunch(
            kind=EventKind.KERNEL,
            wave_size=step.wave_size,
            name=step.name.encode()[:159],
            grid=step.grid,
            block=step.block,
            lds_bytes=step.lds_dynamic,
            kernarg_bytes=step.kernarg.explicit_bytes,
            function=self._address(step.symbol),
        )
        code = _LAUNCHER(self._address(step.launcher))(event, explicit, stream)
        if code:
            raise hip_error(code, step.name)

    def _address(self, symbol: str) -> int:
        address = self._symbols.address(symbol)
        if address is None:
            raise UsageError(
                f"{self._symbols.path.name} has no {symbol}: the kernels have changed since, write the capsule again"
            )
        return address
