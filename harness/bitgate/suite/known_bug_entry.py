"""Entries for a ledger of known bugs, written from failures: as narrow as they are, and excusing nothing else."""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import date
from pathlib import Path
from typing import NamedTuple

from bitgate.core.errors import UsageError
from bitgate.core.files import write_whole
from bitgate.core.untrusted import printable
from bitgate.results.record import Verdict
from bitgate.results.report.cause import cause_of
from bitgate.results.report.result import sentence_of
from bitgate.results.report.text import one_line
from bitgate.suite.known_bugs import read

MOST = 100
"""Entries that are written at once; a bug of more combinations is a predicate, which a person finds."""


class Excuse(NamedTuple):
    """The words of a person about a bug: who fixes it, where it is written down, and the last day it may fail."""

    owner: str
    ticket: str
    expires: date


Names = tuple[str, ...]
Options = tuple[tuple[str, str], ...]


class Combination(NamedTuple):
    """Failures that one entry is about: each of the cases failed with each of the kernels on each of the targets."""

    cases: Names
    kernels: Names
    targets: Names
    options: Options
    fill: str


def add_entries(ledger: Path, verdicts: Sequence[Verdict], excuse: Excuse) -> int:
    """Append entries for failures of one cause to a ledger, and return how many there are.

    UsageError, and the ledger is as it was, for failures that no entry may excuse, or for a ledger that is wrong.
    """
    cause = cause_of(verdicts[0])
    if not verdicts[0].outcome.is_kernels:
        raise UsageError(f"cause {cause.id}: {verdicts[0].outcome} is no failure of a kernel: run these cases again")
    if any(verdict.known_bug for verdict in verdicts):
        entry = next(verdict.known_bug for verdict in verdicts if verdict.known_bug).get("entry", "a ledger")
        raise UsageError(f"cause {cause.id}: {entry} has an entry for its cases: change that one")
    read(ledger)  # a ledger that is wrong already is reported by itself
    groups = combined(verdicts)
    if len(groups) > MOST:
        raise UsageError(
            f"cause {cause.id}: {len(groups)} combinations of kernels, targets, options and cases, at most {MOST} are"
            " written: state the problems that fail with 'where' (docs/verdicts.md)"
        )
    before = ledger.read_text() if ledger.exists() else ""
    texts = [_entry(group, verdicts[0], excuse) for group in groups]
    draft = ledger.with_name(f".{ledger.name}.draft")
    try:
        write_whole(draft, "\n".join([*([before.rstrip() + "\n"] if before.strip() else []), *texts]))
        read(draft)
        draft.replace(ledger)
    except OSError as error:
        raise UsageError(f"--ledger {ledger}: cannot be written: {error.strerror or error}") from None
    finally:
        draft.unlink(missing_ok=True)
    return len(texts)


def combined(verdicts: Sequence[Verdict]) -> list[Combination]:
    """Return what the failures have in common, so that no entry is about a case that did not fail in it."""
    cases: dict[tuple[str, str, Options, str], set[str]] = {}
    for verdict in verdicts:
        key = verdict.key
        cases.setdefault((key.name, key.target, key.options, key.fill), set()).add(key.case)
    kernels: dict[tuple[str, Options, str, Names], set[str]] = {}
    for (kernel, target, options, fill), of in cases.items():
        kernels.setdefault((target, options, fill, tuple(sorted(of))), set()).add(kernel)
    targets: dict[tuple[Names, Options, str, Names], set[str]] = {}
    for (target, options, fill, failing), of_target in kernels.items():
        targets.setdefault((tuple(sorted(of_target)), options, fill, failing), set()).add(target)
    return [
        Combination(failing, names, tuple(sorted(places)), options, fill)
        for (names, options, fill, failing), places in targets.items()
    ]


def _entry(one: Combination, first: Verdict, excuse: Excuse) -> str:
    cause = cause_of(first)
    lines = [
        f"# cause {cause.id}: {printable(one_line(sentence_of(first), 200))}",
        "[[known_bug]]",
        f"case = {_texts(one.cases)}",
        f"kernel = {_texts(one.kernels)}",
        f"target = {_texts(one.targets)}",
    ]
    if one.options:
        lines.append(f"options = {{ {', '.join(f'{_text(name)} = {_text(value)}' for name, value in one.options)} }}")
    lines += [f"fill = {_text(one.fill)}", f"verdict = {_text(cause.outcome)}"]
    lines += [f"kind = {_text(cause.kind)}"] * bool(cause.kind)
    lines += [f"owner = {_text(excuse.owner)}", f"ticket = {_text(excuse.ticket)}", f"expires = {excuse.expires}"]
    return "\n".join(lines) + "\n"


def _texts(values: Sequence[str]) -> str:
    if len(values) == 1:
        return _text(values[0])
    return "[\n" + "".join(f"    {_text(value)},\n" for value in values) + "]"


def _text(value: str) -> str:
    """Return a text as TOML has it, whose escapes are JSON's but for a deleted character."""
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
