"""The options by which a command runs kernels under an emulator: they set what all of its processes read."""

from __future__ import annotations

import os
from typing import Annotated

import typer

from bitgate.core import emulation
from bitgate.core.errors import UsageError

LauncherOption = Annotated[
    str, typer.Option("--launcher", metavar="COMMAND", help="Run kernels under an emulator: 'rocjitsu --config F --'.")
]
DaemonOption = Annotated[
    str, typer.Option("--launcher-daemon", metavar="COMMAND", help="Start this emulator once; --launcher attaches.")
]


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
