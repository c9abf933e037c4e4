"""``bitgate history``: what past runs say of a case, a machine, or each other."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from bitgate.core.errors import UsageError
from bitgate.lab.history import format as lines
from bitgate.results.report.text import counted

if TYPE_CHECKING:
    from sqlalchemy import Connection

    from bitgate.lab.history.durations import Duration
    from bitgate.lab.history.query import RecordedRun

app = typer.Typer(
    add_completion=False,
    no_args_is_help=True,
)

Url = Annotated[
    str,
    typer.Option(
        "--history",
        metavar="FILE|URL",
        help="Read this SQLite file or postgresql:// URL [your history].",
    ),
]
Last = Annotated[int, typer.Option("--last", metavar="N", min=1, max=10_000, help="Look at the last N runs.")]
Target = Annotated[str, typer.Option(help="Look at this target only.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print one JSON document on stdout.")]


@app.callback(invoke_without_command=True)
def history(
    context: typer.Context,
    pair: Annotated[
        tuple[str, str] | None,
        typer.Option("--diff", metavar="A B", help="Compare two runs, as `history diff A B` does."),
    ] = None,
    html: Annotated[
        Path | None, typer.Option("--html", metavar="DIR", help="Write a site of the history to DIR, or update it.")
    ] = None,
    url: Url = "",
    last: Last = 60,
    as_json: AsJson = False,
) -> int:
    """Report trends, flaky cases and bad machines of past runs.

    Past runs are read into a database once: `bitgate history ingest out`. The default is $BITGATE_HISTORY, else a file
    in your data folder.
    """
    stated = ["--diff A B"] * (pair is not None) + ["--html DIR"] * (html is not None)
    if len(stated) > 1 or (stated and context.invoked_subcommand is not None):
        raise UsageError(f"{stated[0]} is a separate command: leave {context.invoked_subcommand or stated[1]} out")
    if context.invoked_subcommand is not None and (url or last != 60 or as_json):
        raise UsageError(f"write --history, --last and --json after {context.invoked_subcommand}")
    if pair is not None:
        return diff(*pair, url=url, as_json=as_json)
    if html is not None:
        return _write_site(html, url, last, as_json)
    if context.invoked_subcommand is None:
        typer.echo(context.get_help())
    return 0


def _write_site(folder: Path, url: str, last: int, as_json: bool) -> int:
    from bitgate.core import git
    from bitgate.lab.history.site.site import write_site
    from bitgate.lab.history.store import default_url

    site = write_site(url or default_url(), folder, last, lambda good, bad: git.between(Path.cwd(), good, bad))
    print(json.dumps({"site": site.as_json()}) if as_json else site.words)
    return 0


@app.command()
def ingest(
    files: Annotated[
        list[Path], typer.Argument(metavar="FILE|FOLDER...", help="Read results files, or folders of them.")
    ],
    url: Url = "",
    as_json: AsJson = False,
) -> int:
    """Read records into the history.

    Each file is read whole or not at all, and each line once, however often it is given.
    """
    from bitgate.lab.history.ingest import ingest as read_into
    from bitgate.lab.history.store import opened

    done = []
    with opened(url) as store:
        for one in read_into(store, files):
            done.append(one)
            print(*one.flaws, sep="\n", end="\n" if one.flaws else "", file=sys.stderr)
            print(f"{one.file}  {one.lines} {one.what}, {one.added} new", file=sys.stderr if as_json else sys.stdout)
        name = store.name
    flaws = [flaw for one in done for flaw in one.flaws]
    kinds = {one.what: [other for other in done if other.what == one.what] for one in done}
    counts = {what: (sum(one.lines for one in of), sum(one.added for one in of)) for what, of in kinds.items()}
    if as_json:
        verdicts, timings = counts.get("verdicts", (0, 0)), counts.get("timings", (0, 0))
        said = {"verdicts": verdicts[0], "added": verdicts[1], "timings": timings[0], "timings_added": timings[1]}
        print(json.dumps({"ingested": {"history": name, **said, "flaws": flaws}}))
    else:
        added_counts = ", ".join(f"{added} of {read} {what}" for what, (read, added) in counts.items())
        print(f"{name}  {added_counts} are new" + (f"; {counted(len(flaws), 'flaw')}" if flaws else ""))
    return 0


def remember(files: Sequence[Path], url: str) -> int:
    """Ingest files at the end of another command. Return 0, or 2 with a line if the history cannot be used.

    Files that cannot be read have been reported by the command.
    """
    from bitgate.lab.history.ingest import ingest as read_into
    from bitgate.lab.history.store import opened

    try:
        with opened(url) as store:
            added = {"verdicts": 0, "timings": 0}
            for one in read_into(store, files):
                added[one.what] += one.added
            timed = f", {counted(added['timings'], 'timing')}" if added["timings"] else ""
            print(f"{store.name}  {counted(added['verdicts'], 'verdict')}{timed} more", file=sys.stderr)
    except UsageError as error:
        print(f"bitgate: not remembered: {error}", file=sys.stderr)
        return 2
    return 0


@app.command()
def runs(url: Url = "", last: Last = 20, as_json: AsJson = False) -> int:
    """List the last runs: when, which commit, which verdicts."""
    from bitgate.lab.history import query

    with _reading(url, last) as (connection, chosen):
        found = query.with_totals(connection, chosen)
    if as_json:
        print(json.dumps({"runs": [run.as_json() for run in found]}))
    else:
        tell(lines.format_runs(found))
    return 0


@app.command()
def case(
    name: Annotated[str, typer.Argument(metavar="CASE", help="Name a case id, or a quoted foreign command line.")],
    url: Url = "",
    last: Last = 20,
    target: Target = "",
    as_json: AsJson = False,
) -> int:
    """Show a case run after run: verdict, seconds, machine.

    Marks where its digest changed.
    """
    from bitgate.lab.history import query
    from bitgate.lab.history.series import trend

    with _reading(url, last) as (connection, chosen):
        name = _case_id(connection, name)
        found = list(query.series(connection, chosen, name=name, target=target))
    names = {run.number: run.name for run in chosen}
    trends = [(key, trend(points, names)) for key, points in found]
    if as_json:
        documents = [{**key.as_json(), "trend": [point.as_json() for point in points]} for key, points in trends]
        print(json.dumps({"cases": documents}))
    else:
        tell(lines.format_trends(trends))
    return 0


@app.command("first-bad")
def first_bad(
    name: Annotated[str, typer.Argument(metavar="[CASE]", help="Name a case id [all that are red now].")] = "",
    url: Url = "",
    last: Last = 60,
    target: Target = "",
    as_json: AsJson = False,
) -> int:
    """Find since which run a case is red, and the commits.

    The commits are those between the last good run and the first red one. Cases that are known to be flaky, and
    machines that spoil answers, are left out: see `bitgate history flaky`.
    """
    from bitgate.core import git
    from bitgate.lab.history.first_bad import first_bad as find

    with _reading(url, last) as (connection, chosen):
        name = _case_id(connection, name) if name else ""
        found = find(connection, chosen, name, target)
    between = [git.between(Path.cwd(), one.good, one.bad) for one in found]
    if as_json:
        documents = [
            {**one.as_json(), "commits": commits[1] if commits else None, "log": commits[0] if commits else []}
            for one, commits in zip(found, between, strict=True)
        ]
        print(json.dumps({"first_bad": documents}))
        return 0
    tell(lines.format_first_bad(found, between))
    if not found:
        print(f"{name} is not red now" if name else "nothing is red by its last answer, but for what is flaky")
    return 0


@app.command()
def flaky(url: Url = "", last: Last = 60, target: Target = "", as_json: AsJson = False) -> int:
    """Find flaky cases, unreliable machines and bad nights.

    A flaky case answers differently on the same bits. A machine that spoils a thousand cases is reported as one
    machine, and not as a thousand cases; docs/history.md has the formula. The score is in decibans: 13 is twenty to
    one.
    """
    from bitgate.lab.history.flaky import root_causes

    with _reading(url, last) as (connection, chosen):
        found = root_causes(connection, chosen, target)
    if as_json:
        print(json.dumps({"flaky": {"runs": len(chosen), **found.as_json()}}))
    else:
        tell(lines.format_blame(found, len(chosen)))
    return 0


@app.command()
def durations(
    out: Annotated[
        Path | None,
        typer.Option(metavar="FOLDER", help="Write a new <target>.json each, for `ci plan`."),
    ] = None,
    url: Url = "",
    last: Last = 20,
    target: Target = "",
    drifted: Annotated[
        bool, typer.Option("--drifted", help="List only cases whose time has changed, the slower first.")
    ] = False,
    as_json: AsJson = False,
) -> int:
    """Report how long each case took, by target and machine.

    Prints median and 95th percentile over runs, and the change from the first level to the last if there is one, be it
    a step or 3 % a night. `--out suites/durations` writes the tables that suites carry; `ci plan --durations FOLDER`
    takes others.
    """
    from bitgate.lab.history.durations import durations as find

    with _reading(url, last) as (connection, chosen):
        found = list(find(connection, chosen, target))
    if drifted:
        changes = {id(one): one.drift.ratio for one in found if one.drift}
        found = sorted((one for one in found if id(one) in changes), key=lambda one: -changes[id(one)])
    files = _tables(found, out) if out else []
    if as_json:
        print(json.dumps({"durations": [one.as_json() for one in found], "files": [str(file) for file in files]}))
    elif out:
        tell(f"{file}" for file in files)
    else:
        tell(lines.format_durations(found))
    return 0


def _tables(found: Sequence[Duration], out: Path) -> list[Path]:
    from tempfile import TemporaryDirectory

    from bitgate.core.project_file import find
    from bitgate.kernel.loading import with_operations
    from bitgate.lab.history.durations import as_verdicts
    from bitgate.suite.recorded import note_runs

    if not found:
        raise UsageError(f"--out {out}: no case was compared, so nothing is known of its seconds")
    with_operations(find())  # cases of a user's operation are read as problems, too
    out.mkdir(parents=True, exist_ok=True)
    with TemporaryDirectory(prefix=".durations-", dir=out) as draft:
        files = {noted.file for noted in note_runs(as_verdicts(found), Path(draft))}
        return sorted(file.replace(out / file.name) for file in files)


@app.command()
def bench(
    name: Annotated[str, typer.Option("--case", metavar="CASE", help="Look at this case only.")] = "",
    kernel: Annotated[
        str, typer.Option(metavar="GLOB", help="Look at kernels by family or family.instance only.")
    ] = "",
    effect: Annotated[
        float,
        typer.Option(
            "--effect", metavar="SHARE", min=0, max=1, help="Report steps from this share of the slower level."
        ),
    ] = 0.03,
    html: Annotated[Path | None, typer.Option(metavar="FILE", help="Write a page with a plot of each.")] = None,
    url: Url = "",
    last: Annotated[int, typer.Option("--last", metavar="N", min=1, max=1000, help="Look at the last N runs.")] = 120,
    target: Target = "",
    as_json: AsJson = False,
) -> int:
    """Report since when kernels are slower or faster.

    Prints the commits between. A night's point is the median of its samples. Single slow nights are no step, and with
    fewer than eight nights nothing is reported; docs/gate.md has the formula. `bitgate bench` writes what
    `bitgate history ingest` reads.
    """
    from bitgate.core import git
    from bitgate.lab.history.store import opened
    from bitgate.lab.history.timed import timed, timed_runs

    with opened(url, must_exist=True) as store, store.reading() as connection:
        chosen = timed_runs(connection, last)
        name = _case_id(connection, name) if name else ""
        found = list(timed(connection, chosen, name=name, kernel=kernel, target=target, minimum_effect=effect))
    if html:
        from bitgate.lab.history.bench_page import write_page

        write_page(html, found, chosen)
    if as_json:
        print(json.dumps({"bench": {"runs": [run.name for run in chosen], "series": [one.as_json() for one in found]}}))
        return 0
    tell(lines.format_timed(found, lambda step: git.between(Path.cwd(), *step.commits)))
    if html:
        print(html)
    return 0


@app.command()
def diff(
    before: Annotated[str, typer.Argument(metavar="A", help="Name a run, or a target.")],
    after: Annotated[str, typer.Argument(metavar="B", help="Name another run, or target.")],
    url: Url = "",
    last: Last = 20,
    as_json: AsJson = False,
) -> int:
    """Compare verdicts and digests of two runs or targets.

    Of targets the last answers are compared.
    """
    from bitgate.lab.history.diff import difference

    with _reading(url, last) as (connection, chosen):
        found = difference(connection, before, after, chosen)
    if as_json:
        print(json.dumps({"diff": found.as_json()}))
    else:
        tell(lines.format_difference(found))
    return 0


def _case_id(connection: Connection, name: str) -> str:
    """Return a case id as records spell it. UsageError with the nearest one for what no record has."""
    from bitgate.lab.history import query

    if query.has_case(connection, name):
        return name
    from bitgate.cli.args import problems_named
    from bitgate.model import case_id

    try:
        spelled = [case_id(problem) for problem in problems_named(name)]
    except UsageError:  # of a user's operation, say: it must be spelled as in records
        spelled = []
    return next((one for one in spelled if query.has_case(connection, one)), "") or query.nearest(connection, name)


@contextmanager
def _reading(url: str, last: int) -> Iterator[tuple[Connection, list[RecordedRun]]]:
    from bitgate.lab.history.query import last_runs
    from bitgate.lab.history.store import opened

    with opened(url, must_exist=True) as store, store.reading() as connection:
        yield connection, last_runs(connection, last)


def tell(lines: Iterable[str]) -> None:
    for line in lines:
        print(line)
