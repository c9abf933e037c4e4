"""How a verdict is called in JUnit: the target is part of the class name, never of the test's own name, so that one
case has one history whatever it ran on."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

from bitgate.results.record import Verdict

COMMAND_LINE = "verify"
"""Module and test of a verdict that no test asked for."""


@dataclass(frozen=True)
class TestName:
    """``suite`` is the testsuite ``bitgate.<suite>.<target>``; ``classname`` and ``name`` are the testcase's."""

    __test__ = False

    suite: str
    classname: str
    name: str


def test_names(verdicts: Sequence[Verdict]) -> list[TestName]:
    """One name a verdict, in order; unique within their class as long as keys or tests differ."""
    named = [_name(verdict) for verdict in verdicts]
    namesakes: dict[TestName, list[Verdict]] = {}
    for name, verdict in zip(named, verdicts, strict=True):
        namesakes.setdefault(name, []).append(verdict)
    return [_distinguished(name, verdict, namesakes[name]) for name, verdict in zip(named, verdicts, strict=True)]


def verdict_id(verdict: Verdict) -> str:
    """``<case>__<instance>__<fill>``: the id that pytest shows in brackets."""
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
    """A test that verifies one case in several ways: the parts of the key that differ go into the brackets."""
    if len(namesakes) == 1:
        return name
    words = _words(verdict)
    differing = [word for place, word in enumerate(words) if any(_words(other)[place] != word for other in namesakes)]
    extra = "".join("__" + _safe(word) for word in differing if word)
    return TestName(name.suite, name.classname, f"{name.name.removesuffix(']')}{extra}]" if extra else name.name)


def _words(verdict: Verdict) -> tuple[str, ...]:
    key = verdict.key
    options = "_".join(f"{option}_{value}" for option, value in key.options)
    return key.case, f"{key.kernel}_{key.instance}", key.fill, options, f"seed{key.seed}", key.schedule


@lru_cache(maxsize=4096)
def _part(text: str) -> str:
    """One part of a dotted name, whatever a record says."""
    return re.sub(r"[^A-Za-z0-9_-]", "_", text)[:100] or "_"


def _safe(text: str) -> str:
    return re.sub(r"[^a-z0-9_]", "_", text.lower())
