"""The machines and GPUs of a history, each with its verdicts run by run."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from markupsafe import Markup
from sqlalchemy import Connection, func, select

from bitgate.lab.history.flaky import UnreliableMachine, host_of
from bitgate.lab.history.query import RecordedCase, RecordedRun
from bitgate.lab.history.rows import GPU
from bitgate.lab.history.schema import verdicts
from bitgate.lab.history.series import RunAnswer
from bitgate.lab.history.site.answers import Machine, Names
from bitgate.lab.history.site.case_page import text
from bitgate.lab.history.site.drawing import strip
from bitgate.results.report.text import counted

MOST_REDS = 100


@dataclass
class MachinePage:
    """Everything that is shown of a machine, or of one of its GPUs. ``counts`` are its verdicts by place of the run."""

    node: str
    window: Sequence[RecordedRun]
    blame: list[UnreliableMachine] = field(default_factory=list)
    related: list[str] = field(default_factory=list)
    counts: dict[int, Counter[str]] = field(default_factory=lambda: defaultdict(Counter))
    spans: dict[Machine, list[int]] = field(default_factory=dict)
    found: list[tuple[int, str, RecordedCase, str]] = field(default_factory=list)
    """Red answers: place of the run, verdict, case and the page of the case."""

    @property
    def is_gpu(self) -> bool:
        return GPU in self.node

    @property
    def device(self) -> str:
        return ", ".join(dict.fromkeys(one.device for one in self.spans))

    @property
    def runs(self) -> list[tuple[RecordedRun, Counter[str]]]:
        """The runs with their verdicts, the newest first."""
        return [(self.window[place], self.counts[place]) for place in sorted(self.counts, reverse=True)]

    @property
    def answers(self) -> int:
        return sum(counts.total() for counts in self.counts.values())

    @property
    def environments(self) -> list[tuple[Machine, str, str]]:
        """Its environments, the newest first, each with its first and last run."""
        spans = sorted(self.spans.items(), key=lambda item: -max(item[1]))
        return [(one, self.window[min(places)].name, self.window[max(places)].name) for one, places in spans]

    @property
    def red(self) -> int:
        return sum(map(_red, self.counts.values()))

    @property
    def words(self) -> str:
        return f"{counted(len(self.counts), 'run')}, {self.red} of {self.answers} verdicts red"

    @property
    def strip(self) -> Markup:
        """The runs as bars: red where at least one verdict was."""
        kinds = ["bad" if _red(self.counts[place]) else "good" for place in sorted(self.counts)]
        return Markup(strip(kinds, (), text(self.words)))

    @property
    def red_count(self) -> int:
        return len(self.found)

    @property
    def reds(self) -> list[tuple[str, str, RecordedCase, str]]:
        """The last red answers, the newest first: run, verdict, case and the page of the case."""
        last = sorted(self.found, key=lambda one: one[0], reverse=True)[:MOST_REDS]
        return [(self.window[place].name, outcome, case, page) for place, outcome, case, page in last]


def machine_pages(
    connection: Connection,
    window: Sequence[RecordedRun],
    names: Names,
    blamed: Iterable[UnreliableMachine],
    mixed: Iterable[tuple[RecordedCase, Sequence[RunAnswer]]],
    pages: Mapping[tuple[int, str], str],
) -> list[MachinePage]:
    """Return the machines of some runs by name. ``mixed`` are the cases that were red, ``pages`` those of cases."""
    key = verdicts.c.machine_id, verdicts.c.job_id, verdicts.c.green, verdicts.c.outcome
    statement = select(*key, func.count()).where(verdicts.c.time >= names.since).group_by(*key)
    found: dict[str, MachinePage] = {}
    for number, job, green, outcome, count in connection.execute(statement):
        if job not in names.places:
            continue
        machine, place = names.machines[number], names.places[job]
        for node in dict.fromkeys((machine.node, host_of(machine.node))):
            page = found.setdefault(node, MachinePage(node, window))
            page.counts[place][outcome if green else f"{outcome} (red)"] += count
            page.spans.setdefault(machine, []).append(place)
    for node, page in found.items():
        others = [host_of(node)] if page.is_gpu else [one for one in found if host_of(one) == node != one]
        page.related = sorted(others)
    for one in blamed:
        if one.node in found:
            found[one.node].blame.append(one)
    place_of = {run.number: place for place, run in enumerate(window)}
    for case, answers in mixed:
        for answer in answers:
            if answer.green:
                continue
            red = place_of[answer.run], answer.outcome.value, case, pages[case.number, case.target]
            for node in dict.fromkeys((answer.node, host_of(answer.node))):
                if node in found:
                    found[node].found.append(red)
    return [found[node] for node in sorted(found)]


def _red(counts: Counter[str]) -> int:
    return sum(count for name, count in counts.items() if name.endswith(" (red)"))
