"""A page of a bundle of cases: a part a case on a target, and the rows of the cases in the list of all.

There may be tens of thousands of parts, each of them new with every night: texts are put together without templates.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from hashlib import sha256
from statistics import median

from markupsafe import Markup, escape

from bitgate.lab.history.query import RecordedCase
from bitgate.lab.history.site.answers import Names, Point
from bitgate.lab.history.site.drawing import Times, plot, strip, times_of
from bitgate.results.record import UNKNOWN, Outcome
from bitgate.results.report.page.builder import DEVICES
from bitgate.results.report.page.rows import TableRow
from bitgate.results.report.page.shown import SENTENCE, clean
from bitgate.results.report.text import counted

MOST_PERIODS = 120
LONGEST = 1e9
"""Seconds of a case at most: a damaged history may hold anything."""
MOST_NODES = 12
KNOWN_BUG = Outcome.KNOWN_BUG.value
UNANSWERED = {outcome.value for outcome in Outcome if outcome.is_unanswered}


@dataclass(frozen=True)
class CasePart:
    """The part of one case on one target. ``ratio`` is its last duration's level divided by the first, else 1."""

    html: str
    row: TableRow
    ratio: float


def text(value: str, limit: int = 100) -> str:
    """Return a record's text as HTML."""
    return _short(value, limit) if len(value) < 500 else str(escape(clean(value, limit)))


@lru_cache(maxsize=1 << 15)
def _short(value: str, limit: int) -> str:
    return str(escape(clean(value, limit)))


_word = lru_cache(maxsize=1 << 12)(clean)


@lru_cache(maxsize=1 << 12)
def machine_file(node: str) -> str:
    """Return the name of a machine's page."""
    return f"{sha256(node.encode(errors='replace')).hexdigest()[:12]}.html"


def part(case: RecordedCase, suite: str, points: Sequence[Point], names: Names, file: str) -> CasePart:
    """Return the part of a case for the page ``file``; ``points`` are in the order of time, at least one."""
    answers = _answers(points, names)
    kinds = [_kind(point.outcome, point.green, point.compared) for point in answers]
    last, words = answers[-1], case.words
    changed = list(_changes(answers))
    of_red = next((point for point in reversed(answers) if not point.green), None)
    counts = Counter(point.outcome for point in answers)
    run = [names.runs[point.job].name for point in answers]
    verdicts = ", ".join(f"{count} {outcome}" for outcome, count in counts.most_common())
    shown = f"{counted(len(answers), 'run')} from {text(run[0])} to {text(run[-1])}: {text(verdicts)}"
    timed = [place for place, point in enumerate(answers) if point.compared]
    devices = Counter(names.machines[answers[place].machine].device for place in timed)
    device = devices.most_common(1)[0][0] if devices else ""
    timed = [place for place in timed if names.machines[answers[place].machine].device == device]
    times = times_of([min(LONGEST, max(0.0, answers[place].seconds)) for place in timed]) if timed else None
    steps = [(run[timed[place]], times.ratio) for place in times.steps] if times else []
    says = list(_says(answers, run, steps, changed, names))
    anchor = f"k{case.number}-{text(case.target, 60)}"
    html = "".join(
        (
            f'<article class="past" id="{anchor}"><h2><a href="#{anchor}"><code>{text(case.case, 300)}</code></a>'
            f' <span class="on">{text(case.target)}</span></h2><p class="note">{text(words, 300)}',
            f", {text(suite)}" if suite else "",
            f', {text(case.test, 300)}</p><p><b class="{kinds[-1]}">{text(last.outcome)}</b> ',
            "; ".join(says) or "steady",
            f".</p><figure>{strip(kinds, changed, shown)}",
            f"<figcaption>{shown}</figcaption></figure>",
            _times(times, text(device), steps),
            f'<p class="sentence">{text(of_red.sentence, SENTENCE)}</p>' if of_red and of_red.sentence else "",
            f'<div class="repro"><code>{text(of_red.repro, SENTENCE)}</code></div>' if of_red and of_red.repro else "",
            _periods(answers, run, changed, names),
            _nodes(answers, names),
            "</article>\n",
        )
    )
    kind = names.machines[last.machine].kind
    row = TableRow(
        _word(last.outcome),
        _word(case.target),
        DEVICES.get(kind, _word(kind, 40)),
        _word(suite, 100),
        clean(case.case),
        _word(case.kernel),
        _word(words[len(case.kernel) :]),
        kind=_word(of_red.kind) if of_red else "",
        says=clean(Markup("; ".join(says)).striptags()) if says else "",
        repro=clean(of_red.repro) if of_red and not last.green else "",
        page=f"{file}#{anchor}",
        ms=round(1e3 * median(times.seconds)) if times else 0,
    )
    return CasePart(html, row, times.ratio if times else 1.0)


def _answers(points: Sequence[Point], names: Names) -> Sequence[Point]:
    """Return the answer of each run: its last red attempt, else its last one."""
    places = [names.places[point.job] for point in points]
    if len(set(places)) == len(places):
        return points
    found: dict[int, Point] = {}
    for place, point in zip(places, points, strict=True):
        if place not in found or found[place].green or not point.green:
            found[place] = point
    return list(found.values())


@lru_cache(maxsize=256)
def _kind(outcome: str, green: bool, compared: bool) -> str:
    """Return the class of colours: good, odd (a known bug, or nothing compared), bad, or none without an answer."""
    if outcome in UNANSWERED:
        return "none"
    if not green:
        return "bad"
    return "good" if compared and outcome != KNOWN_BUG else "odd"


def _changes(answers: Sequence[Point]) -> Iterator[int]:
    """Yield the places at which the digest is another one than before."""
    digest = ""
    for place, point in enumerate(answers):
        if point.digest:
            if digest and digest != point.digest:
                yield place
            digest = point.digest


def _says(
    answers: Sequence[Point],
    run: Sequence[str],
    steps: Sequence[tuple[str, float]],
    changed: Sequence[int],
    names: Names,
) -> Iterator[str]:
    answered = [place for place, point in enumerate(answers) if point.outcome not in UNANSWERED]
    red = [place for place in answered if not answers[place].green]
    if red and answered[-1] == red[-1]:
        good = [place for place in answered if answers[place].green]
        since = next(place for place in red if not good or place > good[-1])
        yield f"red since {text(run[since])}"
        if good:
            yield f"last good run {text(run[good[-1]])}"
            first, last = (_commit(names, answers[place]) for place in (good[-1], since))
            if first and last:
                same = f"both of commit <code>{text(last[:12])}</code>"
                yield same if first == last else f"<code>git log {text(first[:12])}..{text(last[:12])}</code>"
            red = [place for place in red if place < since]
    if red:
        yield f"{counted(len(red), 'earlier red answer')}, the last in {text(run[red[-1]])}"
    if steps:
        name, ratio = steps[-1]
        yield f"{'slower' if ratio > 1 else 'faster'} by {100 * abs(ratio - 1):.0f} %, the last step in {text(name)}"
    if changed:
        yield f"{counted(len(changed), 'change')} of digest, the last in {text(run[changed[-1]])}"


def _commit(names: Names, point: Point) -> str:
    commit = names.commits[point.build].removesuffix("-dirty")
    return "" if commit == UNKNOWN else commit


def _times(times: Times | None, device: str, steps: Sequence[tuple[str, float]]) -> str:
    if times is None:
        return ""
    low, middle, top = (f"{1e3 * one:.3g}" for one in (min(times.seconds), median(times.seconds), max(times.seconds)))
    stepped = f", with a step in {', '.join(text(name) for name, _ in steps[-6:])}" if steps else ""
    words = f"{low} to {top} ms on {device}, median {middle} ms{stepped}"
    return f"<figure>{plot(times, words)}<figcaption>{words}</figcaption></figure>"


def _periods(answers: Sequence[Point], run: Sequence[str], changed: Sequence[int], names: Names) -> str:
    """Return a table of the runs that answered alike, the newest first."""
    starts = [
        place
        for place, point in enumerate(answers)
        if not place or (point.outcome, point.digest) != (answers[place - 1].outcome, answers[place - 1].digest)
    ]
    rows = []
    spans = list(zip(starts, [*starts[1:], len(answers)], strict=True))[::-1]
    for first, end in spans[:MOST_PERIODS]:
        point = answers[first]
        many = f" to {text(run[end - 1])} ({end - first})" if end - first > 1 else ""
        commits = (_commit(names, answers[place]) for place in (first, end - 1))
        ends = [text(commit[:12]) for commit in dict.fromkeys(filter(None, commits))]
        kind = _kind(point.outcome, point.green, point.compared)
        mark = ' <b class="state flaky">changed</b>' if first in changed else ""
        rows.append(
            f'<tr><td>{text(run[first])}{many}</td><td><b class="{kind}">{text(point.outcome)}</b></td>'
            f"<td><code>{text(point.digest)}</code>{mark}</td><td><code>{'..'.join(ends)}</code></td></tr>"
        )
    left = f'<p class="note">... and {len(spans) - MOST_PERIODS} before</p>' if len(spans) > MOST_PERIODS else ""
    head = "".join(f'<th scope="col">{name}</th>' for name in ("runs", "verdict", "digest", "commits"))
    return f'<table class="stack"><thead><tr>{head}</tr></thead><tbody>{"".join(rows)}</tbody></table>{left}'


def _nodes(answers: Sequence[Point], names: Names) -> str:
    nodes = [names.machines[point.machine].node for point in answers]
    red = Counter(node for node, point in zip(nodes, answers, strict=True) if not point.green)
    parts = [
        f'<a href="../machines/{machine_file(node)}">{text(node)}</a> {count}'
        + (f" ({red[node]} red)" if red[node] else "")
        for node, count in Counter(nodes).most_common()
    ]
    more = f" and {len(parts) - MOST_NODES} more" if len(parts) > MOST_NODES else ""
    return f'<p class="note">ran on {", ".join(parts[:MOST_NODES])}{more}</p>'
