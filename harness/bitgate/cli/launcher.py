"""The options by which a command runs kernels under another program: they set what all of its processes read."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Annotated

import typer

from bitgate.core import compute_sanitizer, emulation
from bitgate.core.errors import UsageError
from bitgate.core.untrusted import printable

if TYPE_CHECKING:
    from bitgate.runtime.targets import Target

LauncherOption = Annotated[
    str, typer.Option("--launcher", metavar="COMMAND", help="Run kernels under an emulator: 'rocjitsu --config F --'.")
]
DaemonOption = Annotated[
    str, typer.Option("--launcher-daemon", metavar="COMMAND", help="Start this emulator once; --launcher attaches.")
]

SanitizerOption = Annotated[
    str,
    typer.Option("--sanitizer", metavar="TOOL", help="Watch kernels by NVIDIA's memcheck, racecheck ..."),
]


def set_sanitizer(tool: str) -> None:
    """Set the tool of NVIDIA's compute-sanitizer in the environment. UsageError for an unknown one."""
    if tool and tool not in compute_sanitizer.TOOLS:
        raise UsageError(f"--sanitizer {printable(tool[:40])}: give one of {', '.join(compute_sanitizer.TOOLS)}")
    if tool:
        os.environ[compute_sanitizer.TOOL] = tool


def set_launcher(launcher: str, daemon: str, target: str | None) -> None:
    """Set the emulator's commands in the environment. UsageError for what is none, and without a target."""
    if launcher:
        emulation.check(launcher, "--launcher")
        os.environ[emulation.LAUNCHER] = launcher
    if daemon:
        emulation.check(daemon, "--launcher-daemon")
        os.environ[emulation.DAEMON] = daemon
    if daemon and not emulation.launcher():
        raise UsageError("--launcher-daemon goes with --launcher, whose processes attach to it")
    if launcher and not target:
        raise UsageError("--launcher names an emulator: say of what GPU, with --target gfx942")


def opened(launcher: str, daemon: str, target: str | None) -> Target:
    """Return the target that a command runs on, the best one if none is named; an emulator has begun and is measured.

    UsageError as ``set_launcher``, and as ``verify.emulated.begin``.
    """
    from bitgate.runtime.targets import best, named
    from bitgate.verify.emulated import begin, say

    set_launcher(launcher, daemon, target)
    found = named(target) if target else best()
    begin(found, say)
    return found
