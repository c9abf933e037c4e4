"""The plugin's options, which exist in runs of suites only and so have short names."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from difflib import get_close_matches

import pytest

from bitgate.core.errors import UsageError


def add(parser: pytest.Parser) -> None:
    """Add the options to pytest's command line.

    ``--processes`` is cheaper than xdist's ``-n``, whose workers run whole tests.
    """
    group = parser.getgroup("bitgate", "bitgate: kernels gated on bits")
    add = group.addoption
    add(
        "--tier",
        dest="bitgate_tier",
        metavar="TIER",
        help="Run this tier: smoke, or regression, which contains it.",
    )
    add("--target", dest="bitgate_target", metavar="T", help="Run on this target: host, gfx942 ... [the best present].")
    add(
        "--load",
        dest="bitgate_load",
        action="append",
        default=[],
        metavar="FILE",
        help="Load your kernels, also by BITGATE_LOAD; run them alone.",
    )
    add(
        "--kernel",
        dest="bitgate_kernel",
        default="",
        metavar="GLOB[,GLOB]",
        help="Take only kernels whose family.instance matches.",
    )
    add(
        "--option",
        dest="bitgate_option",
        action="append",
        default=[],
        metavar="NAME=VALUE",
        help="Set a kernel option for every case; repeatable.",
    )
    add(
        "--schedule",
        dest="bitgate_schedule",
        default="",
        metavar="S",
        help="Order host threads: forward, reverse, lockstep, random:N.",
    )
    add("--race", dest="bitgate_race", action="store_true", help="Watch each access for races; host only.")
    add("--seed", dest="bitgate_seed", metavar="N", help="Draw every case's data from this seed.")
    add("--resume", dest="bitgate_resume", action="store_true", help="Keep the results and run what is not green yet.")
    add("--repeat", dest="bitgate_repeat", metavar="N", help="Run each case N times; it is red if any run is.")
    add(
        "--until-red",
        dest="bitgate_until_red",
        action="store_true",
        help="With --repeat: stop a case at its first red run.",
    )
    add(
        "--shuffle",
        dest="bitgate_shuffle",
        metavar="SEED",
        help="Draw the order of cases from this seed; probes stay first.",
    )
    add(
        "--in-process",
        dest="bitgate_in_process",
        action="store_true",
        help="Run kernels in this process, to debug; never ends with 0.",
    )
    add(
        "--processes",
        dest="bitgate_processes",
        default="0",
        metavar="N",
        help="Run kernels in N processes, tests in this one (auto: all).",
    )
    add("--select", dest="bitgate_select", metavar="FILE", help="Run only the ids in FILE, one a line.")
    add("--shard", dest="bitgate_shard", default="", metavar="I/N", help="Run only the I-th of N parts of the tier.")
    add("--plan", dest="bitgate_plan", default="", metavar="FILE", help="Run what a plan by `bitgate ci plan` assigns.")
    add(
        "--case-durations",
        dest="bitgate_case_durations",
        default="",
        metavar="FOLDER",
        help="Estimate by the tables of `bitgate ci durations`.",
    )
    add(
        "--case-timeout",
        dest="bitgate_case_timeout",
        metavar="SECONDS",
        help="Call a case HUNG after these seconds [300, or 20 estimates].",
    )


def pairs(stated: Sequence[str]) -> tuple[tuple[str, str], ...]:
    """Parse ``NAME=VALUE`` options; the last of a name wins."""
    for text in stated:
        if "=" not in text.strip("="):
            raise UsageError(f"--option {text}: write NAME=VALUE")
    return tuple(sorted(dict(text.split("=", 1) for text in stated).items()))


def explain(error: pytest.UsageError, arguments: Sequence[str]) -> int:
    """Print a command line's error with the nearest option and return the exit code."""
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
        "--repeat",
        "--until-red",
        "--shuffle",
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
