"""A user's rules of diagnosis: their code runs in copies of the judge's process, which end once they have answered.

A copy has all that the judge has, so that no array is sent; what it says is a finding as data, about a result whose
verdict is known already.
"""

from __future__ import annotations

import json
import os
import select
import signal
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict, fields
from pathlib import Path
from typing import Any

from bitgate.core.errors import UsageError, raised, text_of
from bitgate.core.untrusted import shown
from bitgate.model.finding import Finding, Role, Rule
from bitgate.verify.diagnose.engine import DiagnosisTimeout, load_rules, rule_seconds

LOAD_SECONDS = 60.0
LONGEST_ANSWER = 1 << 16


def isolated_rules(files: Iterable[Path]) -> tuple[Rule, ...]:
    """Return the rules of these files, each as a function that runs it in a copy of this process.

    Raises UsageError as ``load_rules``, also for a file that ends its process or does not end.
    """
    return tuple(rule for file in files for rule in _rules_of(file))


def _rules_of(file: Path) -> tuple[Rule, ...]:
    try:
        said = _in_a_copy(lambda: [getattr(rule, "__name__", repr(rule)) for rule in load_rules([file])], LOAD_SECONDS)
    except (RuleFailed, DiagnosisTimeout) as error:
        raise UsageError(f"{file}: {error}") from None
    if "usage" in said:
        raise UsageError(said["usage"])
    return tuple(_rule(file, place, str(name)) for place, name in enumerate(said["answer"]))


def _rule(file: Path, place: int, name: str) -> Rule:
    def rule(scene: Any) -> Finding | None:
        def find() -> Any:
            found = load_rules([file])[place](scene)
            return None if found is None else _plain(found)

        said = _in_a_copy(find, rule_seconds())
        if "usage" in said:
            raise RuleFailed(said["usage"])
        return None if said["answer"] is None else _finding(said["answer"])

    rule.__name__ = name
    return rule


class RuleFailed(Exception):
    """A rule that gave no finding: the message says why."""


def _plain(found: Any) -> dict[str, Any]:
    if not isinstance(found, Finding):
        raise TypeError(f"returned {type(found).__name__}: return a Finding or None")
    return {**asdict(found), "implies": sorted(found.implies)}


def _finding(said: Mapping[str, Any]) -> Finding:
    known = {item.name for item in fields(Finding)}
    try:
        values = {name: said[name] for name in known & said.keys()}
        return Finding(**values | {"role": Role(said["role"]), "implies": frozenset(said["implies"])})
    except (TypeError, ValueError, KeyError) as error:
        raise RuleFailed(f"its finding cannot be read: {error}") from None


def _in_a_copy(work: Callable[[], Any], seconds: float) -> dict[str, Any]:
    """Return the answer of work that a forked process does. Raises RuleFailed or DiagnosisTimeout."""
    reads, writes = os.pipe()
    child = os.fork()
    if not child:
        _answer(work, writes)
    os.close(writes)
    try:
        data = _read(reads, time.monotonic() + seconds)
    finally:
        os.close(reads)
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
    if data is None:
        raise DiagnosisTimeout(f"did not end within {seconds:g} s")
    try:
        said = json.loads(data)
    except ValueError:
        raise RuleFailed("its process ended without an answer") from None
    if not isinstance(said, dict) or not said.keys() & {"answer", "usage", "error"}:
        raise RuleFailed("its process answered something else")
    if "error" in said:
        raise RuleFailed(str(said["error"]))
    return said


def _read(descriptor: int, until: float) -> bytes | None:
    """Return what is written until the end; None if that does not come in time."""
    data = b""
    while (left := until - time.monotonic()) > 0:
        if select.select([descriptor], [], [], left)[0]:
            part = os.read(descriptor, LONGEST_ANSWER)
            if not part or len(data) > LONGEST_ANSWER:
                return data
            data += part
    return None


def _answer(work: Callable[[], Any], writes: int) -> None:
    """Do the work in the copy, with no descriptor but that of the answer, and end."""
    try:
        answers = os.dup2(writes, 3)
        os.closerange(4, os.sysconf("SC_OPEN_MAX"))
        try:
            said = {"answer": work()}
        except UsageError as error:
            said = {"usage": text_of(error)}
        except BaseException as error:
            said = {"error": shown(raised(error))}
        os.write(answers, json.dumps(said, default=str).encode()[:LONGEST_ANSWER])
    finally:
        os._exit(0)
