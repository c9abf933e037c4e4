"""One launch after work that has not ended: data come into place on the caller's stream while the library enqueues.

What a library does on another stream, or on the null stream, without waiting for the caller's then comes too early: it
reads wrong bytes, or the data are copied over what it wrote.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from bitgate.model.host_tensor import HostTensor
from bitgate.runtime.device import Device
from bitgate.verify.guarded import Buffers
from bitgate.verify.poison import SCRATCH_BYTES
from bitgate.verify.running import WORKSPACE, KernelWork, LaunchConfig, LaunchResult, add_damage, execute, fill


def run_delayed(
    device: Device,
    work: KernelWork,
    inputs: Mapping[str, HostTensor],
    outputs: Mapping[str, HostTensor],
    config: LaunchConfig,
    hold: Callable[[], None],
) -> LaunchResult:
    """Launch as ``run_once`` does, after copies of the data into their buffers, after ``hold``.

    The host needs no ``hold``: its streams run late anyway.
    """
    run = LaunchResult(config)
    with Buffers(device, config.placement) as staged, Buffers(device, config.placement) as buffers:
        for each in (staged, buffers):
            fill(each, work, inputs, config)
        if work.workspace:  # a copy reads it: no sanitizer is to take that for the kernel's read
            staged.named[WORKSPACE].fill(SCRATCH_BYTES[config.poison])
        for buffer in buffers.named.values():
            buffer.fill(SCRATCH_BYTES[1 - config.poison])
        config.arrange(device)

        def put_in_place() -> None:
            hold()
            for name, buffer in buffers.named.items():
                if buffer.bytes:
                    device.copy_within(buffer.pointer, staged.named[name].pointer, buffer.bytes)

        execute(device, work, buffers.named, run, put_in_place)
        if not run.crash and not run.damage:
            run.outputs, run.damage = dict(outputs), buffers.look(inputs, outputs)
    add_damage(run, buffers)
    return run
