"""Steps 2 to 4, each called in a child: the runtime's functions, a build, and a device with its memory."""

from __future__ import annotations

import importlib.metadata
import os
import time
from collections.abc import Callable, Iterator
from ctypes import CDLL, RTLD_GLOBAL
from pathlib import Path
from typing import Any

import numpy as np

from bitgate.core.errors import UsageError
from bitgate.kernel.build import Builder
from bitgate.kernel.registry import families
from bitgate.lab.bringup import functions
from bitgate.lab.bringup.server import StepAnswer
from bitgate.runtime.device import Device
from bitgate.runtime.errors import HipError, check
from bitgate.runtime.runtime import open_device
from bitgate.runtime.targets import named, platform_of
from bitgate.worker.mapped import mapped_runtimes

Report = Callable[[str], None]

SMALL_FAMILY = "naive_reduction"
MEMORY_BYTES = 1 << 20


def builder_of(target: str, report: Report) -> Builder:
    platform = platform_of(target)
    return Builder(platform, report, arch=None if platform == "host" else target)


def runtime(report: Report, *, target: str, project: Any) -> StepAnswer:
    """Check every function that bitgate knows: the library must export it, and hip-python must have it."""
    library, hip = _opened_by_hip_python(target, report)
    handle = CDLL(str(library))
    names = functions.listed()
    users = functions.needed(names)
    launching = functions.LAUNCHING if platform_of(target) == "amd" else ()
    unexported = [name for name in names if not hasattr(handle, name)]
    # Libraries of kernels are linked as they are loaded: what an emulator has preloaded is found, too.
    unexported += [name for name in launching if not hasattr(handle, name) and not hasattr(CDLL(None), name)]
    unspoken = [
        name
        for name in users
        if not hasattr(hip, functions.SPELLED_BY_PYTHON.get(name, name)) and _by_python(users[name])
    ]
    needed = [name for name in unexported if name in users]
    users = {**users, **dict.fromkeys(launching, ("every library of kernels that ROCm's compiler makes",))}
    needed += [name for name in unexported if name in launching]
    others = [name for name in unexported if name not in needed]
    version = importlib.metadata.version("hip-python")
    wrong = []
    if needed:
        wrong.append(f"{library} lacks {functions.format_missing(needed, users)}")
    if unspoken:
        wrong.append(f"hip-python {version} lacks {functions.format_missing(unspoken, users)}")
    note = f"; {len(others)} that bitgate does not need are missing" if others else ""
    return StepAnswer(
        f"{library.name} exports {len(names) - len(unexported)} of {len(names)} functions{note}",
        "; ".join(wrong),
        {
            "library": str(library),
            "hip_python": version,
            "missing": {name: list(users.get(name, ())) for name in unexported},
            "missing_in_hip_python": {name: list(users[name]) for name in unspoken},
        },
    )


def _by_python(labels: tuple[str, ...]) -> bool:
    return any(label.endswith(".py") for label in labels)


def _opened_by_hip_python(target: str, report: Report) -> tuple[Path, Any]:
    """Load the runtime as ``open_device`` does, but without a device, which is for a later step."""
    if platform_of(target) != "amd":
        path = builder_of(target, report).runtime()
        try:
            CDLL(str(path), mode=RTLD_GLOBAL)
        except OSError as error:
            raise UsageError(f"{path}: the runtime cannot be loaded: {error}") from None
        for name in ("ROCM_PATH", "ROCM_HOME"):  # hip-python would prefer what they name
            os.environ.pop(name, None)
    try:
        from hip import hip as module
    except ImportError as error:
        raise UsageError(f"hip-python cannot be imported ({error}): pip install hip-python") from None
    hip: Any = module  # hip-python's functions are not typed
    try:
        hip.hipRuntimeGetVersion()  # the first call opens the library
    except RuntimeError as error:
        raise UsageError(f"hip-python opens no runtime: {error}") from None
    mapped = mapped_runtimes()
    if not mapped:
        raise UsageError("hip-python opened no libamdhip64.so: install ROCm, or set ROCM_PATH")
    return mapped[0], hip


def build(report: Report, *, target: str, project: Any) -> StepAnswer:
    """Build one small family, and report the compiler and its flags."""
    steps: list[str] = []

    def on_line(line: str) -> None:
        steps.append(line)
        report(line)

    builder, family = builder_of(target, on_line), families()[SMALL_FAMILY]
    begun = time.monotonic()
    library = builder.family(family)
    seconds = time.monotonic() - begun
    line = builder.compiler_line(family, library)
    how = f"in {seconds:.1f} s" if steps else "from the cache"
    return StepAnswer(
        f"{SMALL_FAMILY} by {builder.compiler.name} {how}",
        detail={"compiler": builder.compiler.name, "flags": line, "seconds": round(seconds, 3), "cached": not steps},
        files={
            "compiler.txt": f"{' '.join(builder.compiler.command)}\n{builder.compiler.version}\n\n{line}\n",
            **({"build.txt": "\n".join(steps)} if steps else {}),
        },
    )


def device(report: Report, *, target: str, project: Any) -> StepAnswer:
    """Open the device and try, one by one, the functions that every case needs."""
    opened = open_device(named(target), builder_of(target, report))
    attributes = dict(vars(opened.attributes))
    wrong = [text for text in _uses(opened) if text]
    opened.close()
    lanes, memory = attributes["wave_size"], attributes["total_memory"] / 2**30
    sentence = f"{attributes['compute_units']} compute units, waves of {lanes}, {memory:.0f} GiB"
    return StepAnswer(sentence, "; ".join(wrong), attributes)


def _uses(opened: Device) -> Iterator[str]:
    """Yield for each use what is wrong, or an empty text."""
    for use in (_copied, _set, _events, _streams):
        try:
            yield use(opened)
        except HipError as error:
            yield str(error)
        except RuntimeError as error:  # raised by hip-python for a missing function
            yield f"{use.__name__.strip('_')}: {error}"


def _copied(opened: Device) -> str:
    data = np.random.default_rng(1).integers(0, 256, MEMORY_BYTES, np.uint8)
    back = np.zeros_like(data)
    with opened.alloc(data.nbytes, name="copied") as buffer:
        buffer.upload(data)
        buffer.download(back)
        damage = buffer.check_guards()
    if damage is not None:
        return f"copy to the device and back: {damage.text}"
    return _differ("copy to the device and back", back != data)


def _set(opened: Device) -> str:
    back = np.zeros(MEMORY_BYTES, np.uint8)
    with opened.alloc(back.nbytes, name="set") as buffer:
        buffer.fill(0xA5)
        opened.synchronize()
        buffer.download(back)
    return _differ("hipMemset", back != 0xA5)


def _differ(what: str, wrong: Any) -> str:
    count = int(np.count_nonzero(wrong))
    return f"{what}: {count} of {wrong.size} bytes are wrong, the first at {int(np.argmax(wrong))}" if count else ""


def _events(opened: Device) -> str:
    hip = opened.hip
    begin, end = (check(hip.hipEventCreate(), "hipEventCreate") for _ in range(2))
    check(hip.hipEventRecord(begin, opened.stream), "hipEventRecord")
    check(hip.hipEventRecord(end, opened.stream), "hipEventRecord")
    check(hip.hipEventSynchronize(end), "hipEventSynchronize")
    elapsed = float(check(hip.hipEventElapsedTime(begin, end), "hipEventElapsedTime"))
    for event in (begin, end):
        check(hip.hipEventDestroy(event), "hipEventDestroy")
    return "" if 0 <= elapsed < 60_000 else f"events: {elapsed} ms between two with nothing between them"


def _streams(opened: Device) -> str:
    """Check that a copy on a second stream is complete once that stream was waited for."""
    hip = opened.hip
    data, back = np.arange(4096, dtype=np.uint32), np.zeros(4096, np.uint32)
    stream = check(hip.hipStreamCreateWithFlags(hip.hipStreamNonBlocking), "hipStreamCreateWithFlags")
    with opened.alloc(data.nbytes, name="streamed") as buffer:
        kinds = hip.hipMemcpyKind
        to, source = buffer.pointer, data.ctypes.data
        opened.wait()  # for the buffer's guards
        check(hip.hipMemcpyAsync(to, source, data.nbytes, kinds.hipMemcpyHostToDevice, stream), "hipMemcpyAsync")
        check(hip.hipStreamSynchronize(stream), "hipStreamSynchronize")
        buffer.download(back)
    check(hip.hipStreamDestroy(stream), "hipStreamDestroy")
    return _differ("a copy on a second stream", back.view(np.uint8) != data.view(np.uint8))
