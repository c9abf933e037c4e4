"""What an operation knows of another harness: how its command lines ask for problems."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from bitgate.operation.foreign.controls import Controls
from bitgate.operation.problem import Problem

Values = Mapping[str, str]


@dataclass(frozen=True)
class Program:
    """``parse`` gives the problems of a line's words, from the program's name on; ``controls`` how they are to be run,
    where lines say so. Both raise ProblemError."""

    parse: Callable[[Sequence[str]], tuple[Any, ...]]
    controls: Callable[[Sequence[str]], Controls] | None = None


@dataclass(frozen=True)
class Driver:
    """One of benchdnn's drivers: ``problem`` makes one of a descriptor and a value for each of ``defaults``;
    ``descriptor`` matches the begin of what only this driver's descriptors look like."""

    problem: Callable[[str, Values], Problem]
    defaults: Values
    descriptor: re.Pattern[str]
