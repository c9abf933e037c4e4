"""Programs of another harness, as an operation reads their command lines."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from bitgate.interop.controls import Controls
from bitgate.interop.perf_request import PerfRequest
from bitgate.model.problem import Problem

Values = Mapping[str, str]


@dataclass(frozen=True)
class Variant:
    """Instances that the name of an example asks for.

    They have waves of ``lanes`` lanes (0: any) and a ``kind`` of kernel (empty: the usual one). ``ignored`` are words
    that choose nothing here.
    """

    name: str
    lanes: int = 0
    kind: str = ""
    ignored: tuple[str, ...] = ()


@dataclass(frozen=True)
class Program:
    """Readers of a program's lines, each of the words from the program's name on.

    ``parse`` gives the problems; where lines say so, ``controls`` how they are to be run, ``variant`` on which
    instances, and ``perf`` how they are to be timed. All raise ProblemError.

    ``commands``: the words after the program's name that are the operation's, where others of its commands may be
    another operation's.
    """

    parse: Callable[[Sequence[str]], tuple[Any, ...]]
    controls: Callable[[Sequence[str]], Controls] | None = None
    variant: Callable[[Sequence[str]], Variant] | None = None
    perf: Callable[[Sequence[str]], PerfRequest] | None = None
    commands: tuple[str, ...] = ()


@dataclass(frozen=True)
class BenchdnnDriver:
    """One of benchdnn's drivers.

    ``problems`` makes those of a descriptor and a value for each of ``defaults``, each with a note where benchdnn's is
    another; ProblemError for one that cannot be. ``descriptor`` matches the begin of what only this driver's
    descriptors look like. ``settled`` puts options that say nothing next to the others at their defaults, so that
    values which differ in them only are one. ``spelled`` prints options and descriptor as benchdnn does, for
    ``--match``. ``resembles`` names another driver whose descriptor this is by its lengths, else is empty.
    """

    problems: Callable[[str, Values], Iterator[tuple[Problem, str]]]
    defaults: Values
    descriptor: re.Pattern[str]
    settled: Callable[[Values], Values]
    spelled: Callable[[str, Values], str]
    resembles: Callable[[str], str] = lambda descriptor: ""
