"""The files of a site: what has changed since it was written is rendered, and all else stays.

Cases lie in bundles of consecutive numbers: each case has an address, but tens of thousands of small files take
longer to copy or to upload than to render. Next to a bundle lies what it was made from, and its rows in other pages.
"""

from __future__ import annotations

import gc
import re
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache
from hashlib import sha256
from itertools import groupby
from multiprocessing import get_context
from pathlib import Path

import msgspec
from markupsafe import Markup

from bitgate.core import paths
from bitgate.core.errors import UsageError
from bitgate.core.files import write_whole
from bitgate.core.project import templates
from bitgate.lab.history import query
from bitgate.lab.history.first_bad import first_bad
from bitgate.lab.history.flaky import root_causes
from bitgate.lab.history.run_past import Between
from bitgate.lab.history.site.answers import TOGETHER, Extent, Names, bundle, extents, names_of
from bitgate.lab.history.site.case_page import CasePart, machine_file, part, text
from bitgate.lab.history.site.drawing import strip
from bitgate.lab.history.site.machines import machine_pages
from bitgate.lab.history.store import HistoryStore, opened
from bitgate.results.record import Outcome
from bitgate.results.report.page import house
from bitgate.results.report.page.rows import TableRow, table
from bitgate.results.report.text import counted

SHOWN = {"groups": 100, "cases": 20, "lines": 300}
"""Groups of cases that are red, cases of a group, and lines of other lists."""
OTHERS = 500
"""Rows of the list of all cases that are read without JavaScript."""
FEW = 8
"""Bundles that are rendered sooner than another process has started."""
BRAND = '<p class="brand">bitgate</p>'


class CaseBundle(msgspec.Struct):
    """The file next to a bundle's page: a hash of what it was made from, and a row and a ratio for each part."""

    inputs: str
    rows: list[tuple[TableRow, float]]


@dataclass(frozen=True)
class Site:
    """A written site: its cases on all targets, its bundles of cases, and how many of them were rendered."""

    index: Path
    cases: int
    bundles: int
    rendered: int

    def as_json(self) -> dict[str, str | int]:
        return vars(self) | {"index": str(self.index)}

    @property
    def words(self) -> str:
        pages = counted(self.bundles, "page")
        return f"{self.index}  {counted(self.cases, 'case')} on {pages}, of which {self.rendered} had changed"


def write_site(url: str, folder: Path, last: int, between: Between) -> Site:
    """Write the site of the last runs of a history into a folder, or bring it up to date.

    Raises UsageError for a folder that holds another site, and where files cannot be written.
    """
    _check(folder)
    with opened(url, must_exist=True) as store, _no_collection():
        try:
            return _written(store, url, folder, last, between)
        except OSError as error:
            raise UsageError(f"--html {folder}: cannot be written: {error.strerror or error}") from None


def _check(folder: Path) -> None:
    index = folder / "index.html"
    if folder.exists() and not folder.is_dir():
        raise UsageError(f"--html {folder}: a file: a site takes a folder")
    if index.exists() and BRAND not in index.read_text(errors="replace")[:100_000]:
        raise UsageError(f"--html {folder}: its index.html is of no site of bitgate: name another folder")


def _written(store: HistoryStore, url: str, folder: Path, last: int, between: Between) -> Site:
    with store.reading() as connection:
        window = query.last_runs(connection, last)
        names = names_of(connection, window)
        found = {number: list(of) for number, of in groupby(extents(connection, names.since), _bundle_of)}
        inputs = {number: _inputs(url, of) for number, of in found.items()}
        kept = {number: one for number, hashed in inputs.items() if (one := _kept(folder, number, hashed))}
        changed = {number: hashed for number, hashed in inputs.items() if number not in kept}
        with _rendering(url, folder, changed, names) as rendering:
            mixed = list(query.series(connection, window, mixed_only=True))
            flaky = root_causes(connection, window, mixed=mixed)
            broken = first_bad(connection, window, known=flaky, mixed=mixed)
            nights = query.with_totals(connection, window)[::-1]
            kept |= dict(rendering)
        bundles = {number: kept[number] for number in sorted(kept) if kept[number].rows}
        pages = {(one.case, one.target): _page(one.case, one.target) for of in found.values() for one in of}
        machines = machine_pages(connection, window, names, flaky.machines, mixed, pages)
    states = {(one.case.number, one.case.target): "broken" for group in broken for one in group.cases}
    states |= dict.fromkeys(flaky.flaky, "flaky")
    by_page = {_page(*key): state for key, state in states.items()}
    rows = [
        (row._replace(state=by_page.get(row.page, "")), ratio) for one in bundles.values() for row, ratio in one.rows
    ]
    for machine in machines:
        file = folder / "machines" / machine_file(machine.node)
        _render(file, "history_machine.html.j2", machine=machine, file_of=machine_file)
    _write_list(folder / "cases.html", rows, bundles)
    timed = sorted((one for one in rows if one[1] != 1), key=lambda one: -max(one[1], 1 / one[1]))
    red = ["bad" if run.red else "good" for run in nights[::-1]]
    words = f"{counted(len(nights), 'run')}, {sum(run.red > 0 for run in nights)} with red verdicts"
    _render(
        folder / "index.html",
        "history_nights.html.j2",
        name=store.name,
        nights=nights,
        strip=Markup(strip(red, (), words)),
        words=words,
        cases=len(rows),
        broken=[(group, between(group.good, group.bad)) for group in broken[: SHOWN["groups"]]],
        more_broken=max(0, len(broken) - SHOWN["groups"]),
        flaky=flaky,
        timed=timed,
        machines=machines,
        shown=SHOWN,
        file_of=machine_file,
        page_of=lambda case: _page(case.number, case.target),
    )
    _remove(folder / "machines", {Path(machine_file(one.node)).stem for one in machines}, "[0-9a-f]{12}")
    _remove(folder / "cases", {f"{number:04}" for number in bundles}, "[0-9]{4,}")
    return Site(folder / "index.html", len(rows), len(bundles), len(changed))


@contextmanager
def _no_collection() -> Iterator[None]:
    """Keep the garbage collector from looking through millions of new tuples, of which none is garbage."""
    gc.disable()
    try:
        yield
    finally:
        gc.enable()


def _bundle_of(extent: Extent) -> int:
    return extent.case // TOGETHER


def _page(case: int, target: str) -> str:
    """Return the address of a case's part within the site."""
    return f"cases/{case // TOGETHER:04}.html#k{case}-{text(target, 60)}"


def _inputs(url: str, found: Sequence[Extent]) -> str:
    """Return a hash of everything that a bundle is made from."""
    return sha256(repr((_maker(), url, [tuple(one) for one in found])).encode(errors="replace")).hexdigest()[:32]


@lru_cache(maxsize=1)
def _maker() -> str:
    """Return a hash of the code and the templates that make pages."""
    files = [*sorted(Path(__file__).parent.glob("*.py")), *sorted(templates().iterdir())]
    return sha256(b"\0".join(file.read_bytes() for file in files if file.is_file())).hexdigest()


def _kept(folder: Path, number: int, inputs: str) -> CaseBundle | None:
    """Return a bundle that was made from the same; None for a missing or damaged one."""
    page, noted = (folder / "cases" / f"{number:04}.{ending}" for ending in ("html", "json"))
    try:
        found = msgspec.json.decode(noted.read_bytes(), type=CaseBundle)
    except (OSError, msgspec.DecodeError):
        return None
    return found if found.inputs == inputs and page.is_file() else None


@contextmanager
def _rendering(
    url: str, folder: Path, changed: dict[int, str], names: Names
) -> Iterator[Iterator[tuple[int, CaseBundle]]]:
    """Begin to render bundles in other processes; the iterator gives what they make."""
    items = list(changed.items())
    parts = [items[at : at + FEW] for at in range(0, len(items), FEW)]
    workers = min(paths.threads(), len(parts))
    if workers < 2:
        yield (made for part in parts for made in _render_bundles(url, folder, part, names))
        return
    pool = ProcessPoolExecutor(workers, mp_context=get_context("spawn"))
    try:
        jobs = [pool.submit(_render_bundles, url, folder, part, names) for part in parts]
        yield (made for job in jobs for made in job.result())
    finally:
        pool.shutdown(cancel_futures=True)


def _render_bundles(
    url: str, folder: Path, items: Sequence[tuple[int, str]], names: Names
) -> list[tuple[int, CaseBundle]]:
    """Write some bundles, each after its page."""
    found = []
    with opened(url, must_exist=True) as store, store.reading() as connection, _no_collection():
        for number, inputs in items:
            page = f"cases/{number:04}.html"
            parts = [
                part(case, suite, points, names, page) for case, suite, points in bundle(connection, number, names)
            ]
            made = CaseBundle(inputs, [(one.row, one.ratio) for one in parts])
            if parts:
                write_whole(folder / page, _bundle_page(parts))
            write_whole((folder / page).with_suffix(".json"), msgspec.json.encode(made))
            found.append((number, made))
    return found


def _bundle_page(parts: Sequence[CasePart]) -> str:
    return house.render(
        "history_cases.html.j2",
        styles=("site.css",),
        parts=Markup("".join(one.html for one in parts)),
        count=len(parts),
        first=parts[0].row.case,
        last=parts[-1].row.case,
    )


def _write_list(file: Path, rows: Sequence[tuple[TableRow, float]], bundles: dict[int, CaseBundle]) -> None:
    ordered = sorted((row for row, _ in rows), key=_is_steady)
    others = [row for row in ordered if not _is_steady(row)]
    data, left_out = table(ordered)
    starts = [
        {"file": f"cases/{number:04}.html", "count": len(one.rows), "first": one.rows[0][0].case}
        for number, one in bundles.items()
    ]
    _render(
        file,
        "history_list.html.j2",
        "page.js",
        rows=Markup(data),
        others=others[:OTHERS],
        others_count=len(others),
        count=len(rows),
        left_out=left_out,
        bundles=starts,
    )


def _is_steady(row: TableRow) -> bool:
    return row.verdict == Outcome.PASS.value and not row.state


def _render(file: Path, template: str, script: str = "", **values: object) -> None:
    """Write a page, unless its file has the same text already."""
    made = house.render(template, styles=("site.css",), script=script, **values)
    if not file.is_file() or file.read_text(errors="replace") != made:
        write_whole(file, made)


def _remove(folder: Path, kept: set[str], pattern: str) -> None:
    """Remove the pages of what is no longer in the window."""
    for file in folder.glob("*"):
        if file.suffix in (".html", ".json") and re.fullmatch(pattern, file.stem) and file.stem not in kept:
            file.unlink()
