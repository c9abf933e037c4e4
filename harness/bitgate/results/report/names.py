"""Names of verdicts in JUnit: the target is part of the class name, never of the test's name, so that one case has one
history whatever it ran on."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

from bitgate.results.record import Verdict

COMMAND_LINE = "verify"
"""Name of the module and test of a verdict that no test asked for."""


@dataclass(frozen=True)
class TestName:
    """The name of a verdict in JUnit: its testsuite ``bitgate.<suite>.<target>``, its testcase's classname and name."""

    __test__ = False

    suite: str
    classname: str
    name: str


def test_names(verdicts: Sequence[Verdict]) -> list[TestName]:
    """Return a name for each verdict, in order; unique within their class as long as keys or tests differ."""
    named = [_name(verdict) for verdict in verdicts]
    namesakes: dict[TestName, list[Verdict]] = {}
    for name, verdict in zip(named, verdicts, strict=True):
        namesakes.setdefault(name, []).append(verdict)
    return [_distinguished(name, verdict, namesakes[name]) for name, verdict in zip(named, verdicts, strict=True)]


def verdict_id(verdict: Verdict) -> str:
    """Return the id that pytest shows in brackets: ``<case>__<instance>__<fill>``."""
    key = verdict.key
    return f"{key.case}__{_safe(f'{key.kernel}_{key.instance}')}__{_safe(key.fill)}"


def _name(verdict: Verdict) -> TestName:
    target = _part(verdict.key.target)
    path, _, rest = verdict.test.partition("::")
    # pytest-xdist marks groups with '@'; a node's classes stand between '::'.
    *classes, function = rest.split("@")[0].split("::") if rest else [COMMAND_LINE]
    if "[" not in function:
        function += f"[{verdict_id(verdict)}]"
    module = path.rsplit("/", 1)[-1].removesuffix(".py") or COMMAND_LINE
    suite = _part(verdict.suite or COMMAND_LINE)
    parts = ["bitgate", target, suite, *map(_part, (module, *classes))]
    return TestName(f"bitgate.{suite}.{target}", ".".join(parts), function)


def _distinguished(name: TestName, verdict: Verdict, namesakes: Sequence[Verdict]) -> TestName:
    """Add the parts of the key that differ to the brackets, for a test that verifies one case in several ways."""
    if len(namesakes) == 1:
        return name
    parts = _key_parts(verdict)
    differing = [part for at, part in enumerate(parts) if any(_key_parts(other)[at] != part for other in namesakes)]
    extra = "".join("__" + _safe(part) for part in differing if part)
    return TestName(name.suite, name.classname, f"{name.name.removesuffix(']')}{extra}]" if extra else name.name)


def _key_parts(verdict: Verdict) -> tuple[str, ...]:
    key = verdict.key
    options = "_".join(f"{option}_{value}" for option, value in key.options)
    return key.case, f"{key.kernel}_{key.instance}", key.fill, options, f"seed{key.seed}", key.schedule


@lru_cache(maxsize=4096)
def _part(text: str) -> str:
    """Return a part of a dotted name, of any text that a record holds."""
    return re.sub(r"[^A-Za-z0-9_-]", "_", text)[:100] or "_"


def _safe(text: str) -> str:
    return re.sub(r"[^a-z0-9_]", "_", text.lower())


def part_of(text: str) -> str:
    """Return a part of a dotted name, of any text that another harness wrote."""
    return _part(re.sub(r"[^A-Za-z0-9_-]+", "_", text).strip("_") or "tests")


def fresh(name: str, taken: set[str]) -> str:
    """Return a name that was not returned before, with a number where it was."""
    number, fresh = 1, name
    while fresh in taken:
        number += 1
        fresh = f"{name}__{number}"
    taken.add(fresh)
    return fresh
