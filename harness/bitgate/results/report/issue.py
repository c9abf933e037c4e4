"""The text of an issue about failures of one cause, ready to be pasted into a forge; Markdown, and inert."""

from __future__ import annotations

import shlex
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

from bitgate.results.record import UNKNOWN, Verdict
from bitgate.results.report.cause import cause_of
from bitgate.results.report.page.characters import heat_map
from bitgate.results.report.result import cell_lines, extent_line, place_of, sentence_of
from bitgate.results.report.text import capped, code, literal, one_line

LIMIT = 60_000
"""Bytes: GitHub takes 65,536 characters."""
FACTS = ("commit", "build", "compiler", "runtime", "gpu", "driver", "os")
CASES = 20


def issue_text(verdicts: Sequence[Verdict], state: str = "", shared: Sequence[str] = ()) -> str:
    """Return title and text of an issue; the first of the failures is shown.

    ``state`` is new or known, if asked; ``shared`` says what the failures have in common.
    """
    return capped("\n".join(_lines(verdicts, state, shared)), LIMIT) + "\n"


def _lines(verdicts: Sequence[Verdict], state: str, shared: Sequence[str]) -> Iterator[str]:
    first, cause = verdicts[0], cause_of(verdicts[0])
    kind = f" ({cause.kind})" if cause.kind else ""
    yield f"# {literal(f'{cause.outcome}{kind}: {cause.family}: {sentence_of(first)}', 200)}"
    yield ""
    yield literal(sentence_of(first), 2000)
    if extent := extent_line(first):
        yield from ("", literal(extent))
    yield from ("", f"{literal(first.human or first.key.case)}, on {code(first.key.name)}, {literal(first.key.target)}")
    yield from _block([*heat_map(first.view), *cell_lines(first)])
    yield from ("", "## To repeat")
    yield from _block(filter(None, (first.repro, capsule_line(first), first.foreign)))
    if first.dispatch:
        yield from ("", "## Dispatch record")
        yield from _block(f"{name} = {value}" for name, value in first.dispatch.items())
    yield from ("", "## Where", "", "| | |", "|---|---|")
    facts = {name: first.fingerprint.get(name, "") for name in FACTS}
    place = {"cause": cause.id, "state": state, "row": first.row, "ran on": place_of(first)}
    for name, value in (place | facts).items():
        if value not in ("", UNKNOWN, "none"):
            yield f"| {name} | {literal(value)} |"
    yield from ("", "## Failures", "")
    targets = Counter(verdict.key.target for verdict in verdicts)
    yield f"{len(verdicts)} in all: {literal(', '.join(f'{count} on {name}' for name, count in targets.most_common()))}"
    yield ""
    for line in shared:
        yield from (literal(line, 2000), "")
    for verdict in verdicts[:CASES]:
        yield f"- {code(verdict.key.case, 300)} {code(verdict.key.name, 200)} {literal(verdict.key.target, 100)}"
    if len(verdicts) > CASES:
        yield f"- ... and {len(verdicts) - CASES} more"


def capsule_line(verdict: Verdict) -> str:
    """Return the command that writes the case as a capsule; nothing for a target that has none."""
    key = verdict.key
    if not key.target.startswith("gfx"):
        return ""
    words = ["bitgate", "capsule", "write", key.case, "--target", key.target, "--kernel", key.name]
    for name, value in key.options:
        words += ["--option", f"{name}={value}"]
    words += ["--fill", key.fill] * (key.fill != "exact") + ["--seed", str(key.seed)] * (key.seed != 0)
    return shlex.join([*words, "--out", f"bug-{cause_of(verdict).id}"])


def _block(lines: Iterable[str]) -> list[str]:
    """Return lines as a literal block, which no text can end: each is indented."""
    shown = [f"    {one_line(line, 1000)}" if line.strip() else "    " for line in lines]
    return ["", *shown] if shown else []
