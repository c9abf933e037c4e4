"""Snapshots of a kernel's process from inside, before and after a call: compared, and put in words.

Snapshots are bytes (numerics/native/process_state.cpp), equal if nothing has changed, which is what they nearly
always are; here they are read. Linux and glibc on x86-64, where bitgate runs.
"""

from __future__ import annotations

import os
import resource
import signal
import struct
import time
from collections.abc import Callable, Collection, Iterator
from ctypes import CDLL, create_string_buffer
from dataclasses import dataclass, fields, replace
from functools import lru_cache
from pathlib import Path

from bitgate.worker import outside

EXCUSABLE = ("threads", "descriptors", "subprocesses", "device_memory")
"""What a declaration may say that its library changes; nothing else is ever excused."""

EXCUSABLE_OF_RUNTIMES = ("signal_handlers", "alternate_stack")
"""What a Python kernel may say, too: a runtime that it calls (a JIT, a crash handler) installs these at its first
call."""

NEVER_EXCUSED = ("fp_environment", "signal_handlers", "working_directory", "limits")
"""What no library may change, not even by being loaded."""

FLAGS = (
    "dumpable",
    "signal at the parent's death",
    "subreaper",
    "no new privileges",
    "seccomp",
    "personality",
    "scheduling class",
    "scheduling priority",
    "timer slack",
    "memory that is written or executed",
)
"""The names of the process' flags."""

GRACE_SECONDS = 0.05
"""A thread that has been joined, or a descriptor that another thread closes, may be gone a moment later."""

DEVICE_FILES = ("/dev/nvidia", "/dev/kfd", "/dev/dri/")
"""Descriptors that drivers open and keep as they need them, whatever the library does."""

TakeSnapshot = Callable[[], bytes]
"""Takes a snapshot of the process."""

IsKnownThread = Callable[[int], bool]
"""Returns whether a thread of the process is the harness' own."""

_EXITING = 0x4
"""PF_EXITING of the kernel's flags of a task."""

_FENV_BYTES = 32
_CONTROL, _TAGS, _CSR = slice(0, 2), slice(8, 10), slice(28, 32)
"""Of fenv_t: x87's control word, the tags of its registers, and MXCSR."""
_NONE_IN_USE = b"\xff\xff"


@dataclass(frozen=True)
class ProcessState:
    """One snapshot of the process. Field names are the words of reports."""

    fp_environment: tuple[int, int]
    """x87's control word below the registers that are in use, MXCSR without its flags."""
    signal_handlers: tuple[tuple[int, int, int], ...]
    """Address, flags and mask."""
    signal_mask: bytes
    alternate_stack: bytes
    working_directory: str
    environment: tuple[bytes, ...]
    umask: int
    limits: tuple[int, ...]
    """Soft and hard, in turn."""
    timers: bytes
    """One byte for each of the three that are armed, then those of timer_create as the system lists them."""
    priority: int
    affinity: bytes
    locale: bytes
    process_flags: tuple[int, ...]
    """In the order of ``FLAGS``."""
    credentials: bytes
    """Users, groups and capabilities."""
    oom_score: bytes
    locked_memory: bytes
    """Whether all memory that is mapped, and all that will be, was locked (mlockall)."""
    memory_policy: bytes
    system_v: tuple[int, ...]
    """Segments of shared memory that the process has made; semaphore sets and message queues of its namespace."""
    subprocesses: frozenset[int]
    threads: frozenset[int]
    descriptors: tuple[tuple[int, int, int, int], ...]
    """Number, device, inode, flags of the open file."""

    @classmethod
    def of(cls, snapshot: bytes) -> ProcessState:
        """Return the state that a snapshot holds."""
        fp, handlers, mask, stack, folder, environment, umask, limits, *rest = _sections(snapshot)
        timers, priority, affinity, locale, flags, owner, oom_score, *more = rest
        locked, policy, system_v, children, threads, descriptors = more
        return cls(
            fp_environment=_two(_numbers("I", fp)),
            signal_handlers=tuple(struct.iter_unpack("<QQQ", handlers)),
            signal_mask=mask,
            alternate_stack=stack,
            working_directory=folder.decode(errors="replace") or "(gone)",
            environment=tuple(environment.split(b"\0")[:-1]),
            umask=_numbers("I", umask)[0],
            limits=_numbers("Q", limits),
            timers=timers,
            priority=_numbers("i", priority)[0],
            affinity=affinity,
            locale=locale,
            process_flags=_numbers("I", flags),
            credentials=owner,
            oom_score=oom_score.strip(),
            locked_memory=locked,
            memory_policy=policy,
            system_v=_numbers("I", system_v),
            subprocesses=frozenset(map(int, children.split())),
            threads=frozenset(_numbers("I", threads)),
            descriptors=tuple(struct.iter_unpack("<QQQQ", descriptors)),
        )


Runtime = Callable[[], "tuple[int, int] | None"]
"""Where the HIP runtime's code lies: the signal handlers that it installs are its own business."""


def changes(before: ProcessState, after: ProcessState, runtime: Runtime, excused: Collection[str]) -> list[str]:
    """Return the changes between two snapshots, in words."""
    found = []
    for item in fields(ProcessState):
        name = item.name
        if name in excused:
            continue
        old, new = getattr(before, name), getattr(after, name)
        if old != new and (words := _WORDS[name](old, new, runtime)):
            found.append(f"{name.replace('_', ' ')}: {words}")
    return found


def without_additions(before: ProcessState, after: ProcessState) -> ProcessState:
    """Return ``after`` without the threads and descriptors that were added; what was closed or replaced counts."""
    known = {number for number, *_ in before.descriptors}
    kept = tuple(item for item in after.descriptors if item[0] in known)
    return replace(after, threads=before.threads, descriptors=kept)


def settled(before: ProcessState, after: ProcessState, take: TakeSnapshot, is_known: IsKnownThread) -> ProcessState:
    """Return ``after``, or a later snapshot if something has been added that may be about to go.

    It is without the added threads that are known, and those that are exiting: these run no code any more, and on a
    crowded machine are listed for long.
    """
    end = time.monotonic() + GRACE_SECONDS
    while _added(before, after := _without_harmless(before, after, is_known)) and time.monotonic() < end:
        time.sleep(0.002)
        after = ProcessState.of(take())
    return after


def fp_environment() -> tuple[int, int]:
    """Return x87's control word, below the registers in use, and MXCSR of this thread."""
    buffer = create_string_buffer(_FENV_BYTES)
    _math().fegetenv(buffer)
    control, tags, csr = (int.from_bytes(buffer.raw[part], "little") for part in (_CONTROL, _TAGS, _CSR))
    return control | (~tags & 0xFFFF) << 16, csr


def restore_fp_environment(value: tuple[int, int]) -> None:
    """Before the harness computes anything: a reference made with flushed subnormals would be wrong.

    No register of x87 is in use afterwards."""
    buffer = create_string_buffer(_FENV_BYTES)
    _math().fegetenv(buffer)
    raw = bytearray(buffer.raw)
    raw[_CONTROL] = (value[0] & 0xFFFF).to_bytes(2, "little")
    raw[_TAGS] = _NONE_IN_USE
    raw[_CSR] = value[1].to_bytes(4, "little")
    _math().fesetenv(create_string_buffer(bytes(raw), _FENV_BYTES))


@lru_cache(maxsize=4)
def code_of(path: Path) -> tuple[int, int] | None:
    """Return where a library is loaded; None if it is not."""
    begins, ends = [], []
    for line in Path("/proc/self/maps").read_text().splitlines():
        if line.endswith(str(path)):
            begin, _, end = line.split()[0].partition("-")
            begins.append(int(begin, 16))
            ends.append(int(end, 16))
    return (min(begins), max(ends)) if begins else None


@lru_cache(maxsize=1)
def _math() -> CDLL:
    return CDLL("libm.so.6")


def _without_harmless(before: ProcessState, after: ProcessState, is_known: IsKnownThread) -> ProcessState:
    added = after.threads - before.threads
    harmless = {thread for thread in added if is_known(thread) or _is_exiting(thread)}
    return replace(after, threads=after.threads - harmless) if harmless else after


def _is_exiting(thread: int) -> bool:
    try:
        after_name = Path(f"/proc/self/task/{thread}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return True
    return bool(int(after_name[6]) & _EXITING)


def _added(before: ProcessState, after: ProcessState) -> bool:
    opened = set(after.descriptors) - set(before.descriptors)
    return bool(
        after.threads - before.threads
        or after.subprocesses - before.subprocesses
        or any(not _is_device_file(number) for number, *_ in opened)
    )


def _sections(snapshot: bytes) -> Iterator[bytes]:
    at = 0
    while at < len(snapshot):
        (size,) = struct.unpack_from("<I", snapshot, at)
        yield snapshot[at + 4 : at + 4 + size]
        at += 4 + size


def _numbers(kind: str, section: bytes) -> tuple[int, ...]:
    return struct.unpack(f"<{len(section) // struct.calcsize(kind)}{kind}", section)


def _two(numbers: tuple[int, ...]) -> tuple[int, int]:
    first, second = numbers
    return first, second


def _handler_words(
    old: tuple[tuple[int, int, int], ...], new: tuple[tuple[int, int, int], ...], runtime: Runtime
) -> str:
    changed = [(number, was, now) for number, (was, now) in enumerate(zip(old, new, strict=True), 1) if was != now]
    begin, end = (runtime() or (0, 0)) if changed else (0, 0)
    return ", ".join(
        _signal(number) + (" (flags or mask)" if was[0] == now[0] else "")
        for number, was, now in changed
        if was[0] == now[0] or not begin <= now[0] < end
    )


def _signal(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return str(number)


def _fp_words(old: tuple[int, int], new: tuple[int, int], _: object) -> str:
    bits = {0x8000: "flush to zero", 0x0040: "denormals are zero", 0x6000: "rounding", 0x1F80: "exception masks"}
    changed = [words for mask, words in bits.items() if (old[1] ^ new[1]) & mask]
    x87 = old[0] ^ new[0]
    changed += ["x87 control word"] * bool(x87 & 0xFFFF) + ["x87 or MMX registers are in use"] * bool(x87 >> 16)
    return ", ".join(changed)


def _environment_words(old: tuple[bytes, ...], new: tuple[bytes, ...], _: object) -> str:
    names = sorted({entry.partition(b"=")[0].decode(errors="replace") for entry in set(old) ^ set(new)})
    return ", ".join(names[:5]) or "their order"


def _limit_words(old: tuple[int, ...], new: tuple[int, ...], _: object) -> str:
    names = {getattr(resource, name): name for name in reversed(dir(resource)) if name.startswith("RLIMIT_")}
    changed = dict.fromkeys(index // 2 for index, (was, now) in enumerate(zip(old, new, strict=True)) if was != now)
    return ", ".join(names.get(number, str(number)) for number in changed)


def _descriptor_words(
    old: tuple[tuple[int, int, int, int], ...], new: tuple[tuple[int, int, int, int], ...], _: object
) -> str:
    before, after = {fd: rest for fd, *rest in old}, {fd: rest for fd, *rest in new}
    opened = [fd for fd in after if fd not in before and not _is_device_file(fd)]
    closed = [fd for fd in before if fd not in after]
    kept = [fd for fd in after if fd in before and after[fd] != before[fd] and not _is_device_file(fd)]
    replaced = [fd for fd in kept if after[fd][:2] != before[fd][:2]]
    parts = {"closed": closed, "opened": opened, "replaced": replaced, "given other flags": set(kept) - {*replaced}}
    return ", ".join(f"{', '.join(map(str, sorted(found)[:5]))} {what}" for what, found in parts.items() if found)


def _is_device_file(descriptor: int) -> bool:
    try:
        return os.readlink(f"/proc/self/fd/{descriptor}").startswith(DEVICE_FILES)
    except OSError:
        return False


def _ones(bits: bytes) -> int:
    return sum(bin(byte).count("1") for byte in bits)


def _system_v_words(old: tuple[int, ...], new: tuple[int, ...], _: object) -> str:
    """Others of the same namespace make semaphores and queues, too: these count in one that is the process' alone."""
    names = ("segments of shared memory", "semaphore sets", "message queues")
    counted = list(zip(names, old, new, strict=True))[: None if outside.has_own_ipc() else 1]
    return ", ".join(f"{was} {name}, now {now}" for name, was, now in counted if was != now)


def _more_words(what: str) -> Callable[[frozenset[int], frozenset[int], object], str]:
    return lambda old, new, _: f"{len(new - old)} {what}" if new - old else ""


def _now_words(old: object, new: object, _: object) -> str:
    def show(value: object) -> str:
        text = value.decode(errors="replace") if isinstance(value, bytes) else str(value)
        return text if text.isprintable() and len(text) < 80 else "another"

    return f"was {show(old)}, is {show(new)}" if show(old) != show(new) else "changed"


_WORDS: dict[str, Callable[..., str]] = {
    "fp_environment": _fp_words,
    "signal_handlers": _handler_words,
    "signal_mask": lambda old, new, _: "changed",
    "alternate_stack": lambda old, new, _: "replaced",
    "working_directory": _now_words,
    "environment": _environment_words,
    "umask": lambda old, new, _: f"was {old:03o}, is {new:03o}",
    "limits": _limit_words,
    "timers": lambda old, new, _: "one is running" if any(new) else "stopped",
    "priority": _now_words,
    "affinity": lambda old, new, _: f"was {_ones(old)} cores, is {_ones(new)}",
    "locale": _now_words,
    "process_flags": lambda old, new, _: ", ".join(
        f"{name} was {was}, is {now}" for name, was, now in zip(FLAGS, old, new, strict=True) if was != now
    ),
    "credentials": lambda old, new, _: "users, groups or capabilities changed",
    "oom_score": _now_words,
    "locked_memory": lambda old, new, _: "all is locked" if any(new) else "not locked any more",
    "memory_policy": lambda old, new, _: "changed",
    "system_v": _system_v_words,
    "subprocesses": _more_words("left behind"),
    "threads": _more_words("left running"),
    "descriptors": _descriptor_words,
}
