"""Probes of waves, LDS and atomic operations, by figures from kernels/platform_probe/device.hip.cpp."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from bitgate.core.targets import architecture_of
from bitgate.kernel.declaration import wave_sizes
from bitgate.runtime.probe.workbench import Deviation, Workbench

BLOCK = 256
"""Threads of a block in these kernels."""

ATOMIC_BLOCKS = 16


def wave(bench: Workbench) -> Iterator[Deviation]:
    """Check that the hardware's waves are as long as the declared ones."""
    sizes = wave_sizes(bench.target)
    reported = bench.device.attributes.wave_size
    if reported not in sizes:
        yield Deviation(
            f"the device reports that waves have {reported} lanes, kernels for {bench.target} are built for {sizes[0]}"
        )
    for size in sizes:
        words = bench.figures("wave", 4 * BLOCK, wave=size).reshape(BLOCK, 4)
        if text := _judge_wave(words, size):
            yield Deviation(text, f"wave {size}")
    bench.found["wave_sizes"] = list(sizes)


def _judge_wave(words: NDArray[np.int32], size: int) -> str:
    threads = np.arange(BLOCK)
    votes = words[:, 2].astype(np.uint32).astype(np.uint64) | words[:, 3].astype(np.uint32).astype(np.uint64) << 32
    lanes_voting = np.array([int(vote).bit_count() for vote in votes])
    checks = (
        ("__lane_id() is", words[:, 0], threads % size),
        ("__shfl from lane 0 reads thread", words[:, 1], threads - threads % size),
        ("lanes that __ballot counts:", lanes_voting, np.full(BLOCK, size)),
    )
    for what, found, expected in checks:
        if (found != expected).any():
            thread = int(np.argmax(found != expected))
            return f"thread {thread} of a block: {what} {found[thread]}, expected {expected[thread]}"
    return ""


def lds(bench: Workbench) -> Iterator[Deviation]:
    """Check that a block can have the declared LDS, and that it keeps what is written there."""
    declared = architecture_of(bench.target).lds_bytes
    reported = bench.device.attributes.lds_per_block
    bench.found["lds_bytes"] = {"declared": declared, "device": reported}
    if reported < declared:
        yield Deviation(
            f"the device gives a block {reported} bytes of LDS, kernels for {bench.target} may take {declared}"
        )
        return
    size, wrong, before_end = (int(word) for word in bench.figures("lds", 3))
    if size != declared:
        yield Deviation(f"the kernel took {size} bytes of LDS, {declared} are declared")
    if wrong:
        first = size // 4 - before_end
        yield Deviation(f"{wrong} words of LDS do not hold what was written, the first is word {first} of {size // 4}")


def atomics(bench: Workbench) -> Iterator[Deviation]:
    """Check that additions of many threads to one word all arrive."""
    terms = 1 + np.arange(ATOMIC_BLOCKS * BLOCK) % 7
    expected = int(terms.sum())
    words = bench.figures("atomics", 3, blocks=ATOMIC_BLOCKS)
    floats = words.view(np.float32)
    checks = {
        "atomicAdd of f32": float(floats[0]),
        "f32 additions by atomicCAS": float(floats[1]),
        "atomicAdd of i32": float(words[2]),
    }
    for what, found in checks.items():
        if found != expected:
            yield Deviation(f"{what}: {terms.size} threads added up to {found:.9g}, not {expected}")
