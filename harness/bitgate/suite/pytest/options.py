"""The plugin's options. They exist in runs of suites only, under names short enough to type."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from difflib import get_close_matches

import pytest

from bitgate.core.errors import UsageError


def add(parser: pytest.Parser) -> None:
    group = parser.getgroup("bitgate", "bitgate: kernels gated on bits")
    add = group.addoption
    add(
        "--tier",
        dest="bitgate_tier",
        metavar="TIER",
        help="smoke or regression: the tier to run, the same as -m; regression contains smoke",
    )
    add("--target", dest="bitgate_target", metavar="T", help="host, gfx942 ...; default: the best one present")
    add(
        "--load",
        dest="bitgate_load",
        action="append",
        default=[],
        metavar="FILE",
        help="Your kernel's declaration.py: suites run on it alone, unless --kernel says more. Also: BITGATE_LOAD",
    )
    add("--kernel", dest="bitgate_kernel", default="", metavar="GLOB[,GLOB]", help="Only these family.instance")
    add("--option", dest="bitgate_option", action="append", default=[], metavar="NAME=VALUE", help="A kernel option")
    add(
        "--schedule",
        dest="bitgate_schedule",
        default="",
        metavar="S",
        help="forward, reverse, lockstep, random:N; host",
    )
    add("--race", dest="bitgate_race", action="store_true", help="Watch each access for races; host only")
    add("--seed", dest="bitgate_seed", metavar="N", help="Seed of every case's data")
    add("--resume", dest="bitgate_resume", action="store_true", help="Keep the results and run what is not green yet")
    add(
        "--in-process",
        dest="bitgate_in_process",
        action="store_true",
        help="Run kernels in pytest's own process, for debuggers; such a run never ends with 0",
    )
    add(
        "--processes",
        dest="bitgate_processes",
        default="0",
        metavar="N",
        help="Kernels run in N processes side by side, tests in this one; auto: one a GPU or core. Cheaper than -n,"
        " whose workers run whole tests",
    )
    add("--select", dest="bitgate_select", metavar="FILE", help="Only the ids in FILE, one a line")
    add("--shard", dest="bitgate_shard", default="", metavar="I/N", help="Only the I-th of N parts of the tier")
    add("--plan", dest="bitgate_plan", default="", metavar="FILE", help="What bitgate ci plan wrote: who runs what")
    add(
        "--case-durations",
        dest="bitgate_case_durations",
        default="",
        metavar="FOLDER",
        help="Estimates by the table <target>.json in this folder, which `bitgate ci durations` wrote",
    )
    add(
        "--case-timeout",
        dest="bitgate_case_timeout",
        metavar="SECONDS",
        help="A case that takes longer is HUNG and its worker is replaced (default: 300, or 20 times its estimate)",
    )


def pairs(stated: Sequence[str]) -> tuple[tuple[str, str], ...]:
    """``NAME=VALUE`` options, the last of a name winning."""
    for text in stated:
        if "=" not in text.strip("="):
            raise UsageError(f"--option {text}: write NAME=VALUE")
    return tuple(sorted(dict(text.split("=", 1) for text in stated).items()))


def explain(error: pytest.UsageError, arguments: Sequence[str]) -> int:
    """Print a command line's error with the nearest option; the exit code."""
    lines = str(error).splitlines()
    text = next((line for line in lines if "error:" in line), lines[0])
    known = [
        "--tier",
        "--target",
        "--load",
        "--kernel",
        "--option",
        "--schedule",
        "--seed",
        "--resume",
        "--select",
        "--race",
        "--in-process",
        "--processes",
        "--shard",
        "--plan",
        "--case-durations",
        "--case-timeout",
    ]
    for argument in arguments:
        name = argument.partition("=")[0]
        if name in text.split() and name not in known and (close := get_close_matches(name, known, 1, 0.5)):
            text += f" (did you mean {close[0]}?)"
    print(f"ERROR: {text}", file=sys.stderr)
    return 2
