"""``bitgate history``: what past runs say of a case, a machine, or each other."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from bitgate.cli.columns import columns, counted
from bitgate.errors import UsageError

if TYPE_CHECKING:
    from sqlalchemy import Connection

    from bitgate.history.first_bad import FirstBad
    from bitgate.history.flaky import Blame
    from bitgate.history.query import Run

app = typer.Typer(
    add_completion=False,
    no_args_is_help=True,
    help="Past runs: trends, flaky cases, bad machines, the first bad run. They are read into a database once:"
    " `bitgate history ingest out`; the default is a file in your data folder.",
)

Url = Annotated[
    str,
    typer.Option(
        "--history",
        metavar="FILE|URL",
        help="An SQLite file, or postgresql://USER@HOST/NAME [$BITGATE_HISTORY, else a file in your data folder].",
    ),
]
Last = Annotated[int, typer.Option("--last", metavar="N", min=1, max=10_000, help="Look at the last N runs.")]
Target = Annotated[str, typer.Option(help="Of this target only.")]
AsJson = Annotated[bool, typer.Option("--json", help="One JSON document on stdout.")]

COMMIT = 12
"""Letters of a commit in a table."""


@app.callback(invoke_without_command=True)
def history(
    context: typer.Context,
    pair: Annotated[
        tuple[str, str] | None, typer.Option("--diff", metavar="A B", help="As `history diff A B`.")
    ] = None,
) -> int:
    """Past runs: trends, flaky cases, bad machines, the first bad run."""
    if pair is not None:
        if context.invoked_subcommand is not None:
            raise UsageError(f"--diff A B is a command of its own: leave {context.invoked_subcommand} out")
        return diff(*pair)
    if context.invoked_subcommand is None:
        typer.echo(context.get_help())
    return 0


@app.command()
def ingest(
    files: Annotated[list[Path], typer.Argument(metavar="FILE|FOLDER...", help="Results, or folders of them.")],
    url: Url = "",
    as_json: AsJson = False,
) -> int:
    """Read records into the history: each file whole or not at all, each line once, however often it is read."""
    from bitgate.history.ingest import ingest as read_into
    from bitgate.history.store import opened

    done = []
    with opened(url) as store:
        for one in read_into(store, files):
            done.append(one)
            print(*one.flaws, sep="\n", end="\n" if one.flaws else "", file=sys.stderr)
            print(f"{one.file}  {one.verdicts} verdicts, {one.added} new", file=sys.stderr if as_json else sys.stdout)
        name = store.name
    read, added = sum(one.verdicts for one in done), sum(one.added for one in done)
    flaws = [flaw for one in done for flaw in one.flaws]
    if as_json:
        print(json.dumps({"ingested": {"history": name, "verdicts": read, "added": added, "flaws": flaws}}))
    else:
        print(f"{name}  {added} of {read} verdicts are new" + (f"; {counted(len(flaws), 'flaw')}" if flaws else ""))
    return 0


def remember(files: Sequence[Path], url: str) -> int:
    """``ingest`` at the end of another command: 0, or 2 with a line if the history cannot be used. What cannot be read
    of the files was told by the command."""
    from bitgate.history.ingest import ingest as read_into
    from bitgate.history.store import opened

    try:
        with opened(url) as store:
            added = sum(one.added for one in read_into(store, files))
            print(f"{store.name}  {counted(added, 'verdict')} more", file=sys.stderr)
    except UsageError as error:
        print(f"bitgate: not remembered: {error}", file=sys.stderr)
        return 2
    return 0


@app.command()
def runs(url: Url = "", last: Last = 20, as_json: AsJson = False) -> int:
    """The last runs: when, of which commit, and what became of them."""
    from bitgate.history import query

    with _reading(url, last) as (connection, chosen):
        found = query.told(connection, chosen)
    if as_json:
        documents = [
            {name: value for name, value in vars(run).items() if name != "number"} | {"targets": dict(run.targets)}
            for run in found
        ]
        print(json.dumps({"runs": documents}))
        return 0
    rows = [
        (
            run.name,
            run.started[:16].replace("T", " "),
            run.tier,
            " ".join(commit[:COMMIT] for commit in run.commits),
            sum(count for _, count in run.targets),
            run.red,
            run.unanswered,
            " ".join(target for target, _ in run.targets),
        )
        for run in found
    ]
    _print(("run", "started", "tier", "commit", "verdicts", "red", "unanswered", "targets"), rows)
    return 0


@app.command()
def case(
    name: Annotated[str, typer.Argument(metavar="CASE", help="A case id, or a quoted foreign command line.")],
    url: Url = "",
    last: Last = 20,
    target: Target = "",
    as_json: AsJson = False,
) -> int:
    """What became of a case, run after run: verdict, seconds, machine, and where its digest changed."""
    from bitgate.history import query
    from bitgate.history.series import Series

    with _reading(url, last) as (connection, chosen):
        name = _case_id(connection, name)
        found = list(query.series(connection, chosen, name=name, target=target))
    names = {run.number: run.name for run in chosen}
    documents = []
    for key, told in found:
        trend = Series.of(told)
        odd = {id(trend.answers[place]) for place in trend.deviations}
        rows, digest = [], ""
        for answer in told:
            changed = bool(digest and answer.digest and answer.digest != digest)
            digest = answer.digest or digest
            rows.append(
                {
                    "run": names[answer.run],
                    "time": answer.time,
                    "verdict": answer.outcome.value,
                    "seconds": answer.seconds,
                    "digest": answer.digest,
                    "changed": changed,
                    "deviates": id(answer) in odd,
                    "node": answer.node,
                    "build": answer.build,
                    "commit": answer.commit,
                }
            )
        documents.append({**key.as_json(), "trend": rows})
    if as_json:
        print(json.dumps({"cases": documents}))
        return 0
    for (key, _), document in zip(found, documents, strict=True):
        print(f"{key.case}  {key.kernel} {key.words}".rstrip() + f" on {key.target}")
        table = [
            (
                row["run"],
                row["verdict"] + (" alone" if row["deviates"] else ""),
                f"{row['seconds']:.4f}",
                row["digest"] + (" changed" if row["changed"] else ""),
                row["node"],
                row["commit"][:COMMIT],
            )
            for row in document["trend"]
        ]
        _print(("run", "verdict", "seconds", "digest", "node", "commit"), table, indent="  ")
    return 0


@app.command("first-bad")
def first_bad(
    name: Annotated[str, typer.Argument(metavar="[CASE]", help="A case id; default: all that are red now.")] = "",
    url: Url = "",
    last: Last = 60,
    target: Target = "",
    as_json: AsJson = False,
) -> int:
    """Since which run a case is red, and the commits between the last good run and that.

    Cases that are known to be flaky, and machines that spoil answers, are left out: see `bitgate history flaky`.
    """
    from bitgate.history.first_bad import commits_between
    from bitgate.history.first_bad import first_bad as find

    with _reading(url, last) as (connection, chosen):
        name = _case_id(connection, name) if name else ""
        found = find(connection, chosen, name, target)
    between = [commits_between(Path.cwd(), one) for one in found]
    if as_json:
        print(json.dumps({"first_bad": [_first_bad_json(*pair) for pair in zip(found, between, strict=True)]}))
        return 0
    for one, commits in zip(found, between, strict=True):
        for line in _first_bad_lines(one, commits):
            print(line)
    if not found:
        print("nothing is red by its last answer, but for what is flaky" if not name else f"{name} is not red now")
    return 0


def _first_bad_json(found: FirstBad, commits: tuple[list[str], int] | None) -> dict[str, Any]:
    return {
        "run": found.run,
        "good_run": found.good_run,
        "good": found.good,
        "bad": found.bad,
        "commits": commits[1] if commits else None,
        "log": commits[0] if commits else [],
        "once": found.once,
        "cases": [
            {**one.case.as_json(), "verdict": one.bad.outcome.value, "since": one.bad.time, "reds": one.reds}
            for one in found.cases
        ],
    }


def _first_bad_lines(found: FirstBad, commits: tuple[list[str], int] | None) -> Iterator[str]:
    once = ", in that run alone so far" if found.once else ""
    yield f"{found.run}: {counted(len(found.cases), 'case')} red since{once}"
    for one in found.cases[:10]:
        yield f"  {one.bad.outcome}  {one.case.case}  {one.case.kernel} {one.case.words}".rstrip() + (
            f" on {one.case.target}, {counted(one.reds, 'time')}"
        )
    if len(found.cases) > 10:
        yield f"  ... and {len(found.cases) - 10} more (--json has all)"
    if not found.good_run:
        yield "  no good run of them is known before"
    elif not found.good or not found.bad:
        yield f"  {found.good_run} was the last good run; its records do not say both commits"
    elif found.good == found.bad:
        yield f"  {found.good_run} was the last good run, of the same commit {found.bad[:COMMIT]}: look at the machine"
    else:
        yield f"  {found.good_run} was the last good run: git log {found.good[:COMMIT]}..{found.bad[:COMMIT]}"
    if commits:
        lines, count = commits
        yield from (f"    {line}" for line in lines)
        if count > len(lines):
            yield f"    ... and {count - len(lines)} commits before"


@app.command()
def flaky(url: Url = "", last: Last = 60, target: Target = "", as_json: AsJson = False) -> int:
    """Cases that answer this way and that way on the same bits, machines that spoil answers, and nights gone wrong.

    A machine that spoils a thousand cases is told as one machine, and not as a thousand cases; docs/history.md has the
    formula. The score is in decibans: 13 is twenty to one.
    """
    from bitgate.history.flaky import blame

    with _reading(url, last) as (connection, chosen):
        found = blame(connection, chosen, target)
    if as_json:
        print(json.dumps({"flaky": _flaky_json(found, len(chosen))}))
        return 0
    _print(
        ("flaky case", "kernel", "target", "answers", "deviate", "rate", "score", "on"),
        [
            (
                one.case.case,
                f"{one.case.kernel} {one.case.words}".rstrip(),
                one.case.target,
                one.cause.answers,
                one.cause.deviations,
                f"{one.cause.rate:.1%}",
                round(one.cause.score),
                " ".join(f"{node} {count}" for node, count in one.nodes[:4]),
            )
            for one in found.cases
        ],
    )
    _print(
        ("bad machine", "why", "answers", "deviate", "rate", "score"),
        [
            (
                one.node,
                one.why,
                one.cause.answers,
                one.cause.deviations,
                f"{one.cause.rate:.1%}",
                round(one.cause.score),
            )
            for one in found.machines
        ],
    )
    _print(
        ("bad night", "target", "kernel", "answers", "deviate", "score"),
        [
            (one.run.name, one.target, one.family, one.cause.answers, one.cause.deviations, round(one.cause.score))
            for one in found.nights
        ],
    )
    groups = {"flaky case": found.cases, "bad machine": found.machines, "bad night": found.nights}
    said = ", ".join(counted(len(group), name) for name, group in groups.items())
    print(f"{said} in {found.answers} answers of {counted(len(chosen), 'run')}; {found.lone} deviations are nobody's")
    return 0


def _flaky_json(found: Blame, runs: int) -> dict[str, Any]:
    def cause(one: Any) -> dict[str, Any]:
        said = one.cause
        return {
            "answers": said.answers,
            "deviations": said.deviations,
            "rate": round(said.rate, 6),
            "explained": round(said.explained, 3),
            "score": round(said.score, 2),
        }

    return {
        "runs": runs,
        "answers": found.answers,
        "lone": found.lone,
        "cases": [{**one.case.as_json(), **cause(one), "nodes": dict(one.nodes)} for one in found.cases],
        "machines": [{"node": one.node, "why": one.why, **cause(one)} for one in found.machines],
        "nights": [
            {"run": one.run.name, "target": one.target, "kernel": one.family, **cause(one)} for one in found.nights
        ],
    }


@app.command()
def durations(
    out: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Write a table of durations, which plans of shards read.")
    ] = None,
    url: Url = "",
    last: Last = 20,
    target: Target = "",
    as_json: AsJson = False,
) -> int:
    """How long each case took, by target and class of machines: median and 95th percentile over runs.

    `--out suites/durations/gfx942.json --target gfx942` writes the file that suites carry.
    """
    from bitgate.history.durations import durations as find

    with _reading(url, last) as (connection, chosen):
        found = list(find(connection, chosen, target))
    if out is not None:
        from bitgate.cases import durations as tables

        targets = sorted({one.target for one in found})
        if len(targets) != 1:
            raise UsageError(f"--out {out}: a file is of one target, with --target: {', '.join(targets) or 'none'}")
        machines: dict[str, dict[str, tuple[float, ...]]] = {}
        for one in found:
            name = tables.name(one.case, one.family, one.instance, one.fill)
            machines.setdefault(one.machine, {})[name] = one.samples[-tables.RUNS :]
        out.parent.mkdir(parents=True, exist_ok=True)
        out.write_text(tables.render({machine: tables.History(seconds) for machine, seconds in machines.items()}))
    if as_json:
        print(json.dumps({"durations": [one.as_json() for one in found]}))
        return 0
    if out is not None:
        print(f"{out}  {len(found)} durations")
        return 0
    rows = [
        (
            one.target,
            one.machine,
            one.case,
            f"{one.family}.{one.instance}",
            one.fill,
            len(one.samples),
            f"{one.median:.4f}",
            f"{one.p95:.4f}",
        )
        for one in found
    ]
    _print(("target", "machine", "case", "kernel", "fill", "runs", "median s", "p95 s"), rows)
    return 0


@app.command()
def diff(
    before: Annotated[str, typer.Argument(metavar="A", help="A run, or a target.")],
    after: Annotated[str, typer.Argument(metavar="B", help="Another one.")],
    url: Url = "",
    last: Last = 20,
    as_json: AsJson = False,
) -> int:
    """Verdicts and digests that differ between two runs, or between the last answers of two targets."""
    from bitgate.history.diff import difference

    with _reading(url, last) as (connection, chosen):
        found = difference(connection, before, after, chosen)
    if as_json:
        changes = [
            {
                **{name: value for name, value in one.case.as_json().items() if name != "target" or one.target},
                "what": one.what,
                "before": {"verdict": one.before.outcome.value, "digest": one.before.digest},
                "after": {"verdict": one.after.outcome.value, "digest": one.after.digest},
            }
            for one in found.changes
        ]
        print(json.dumps({"diff": {"changes": changes, "same": found.same, "only": list(found.only)}}))
        return 0
    rows = [
        (
            one.case.case,
            f"{one.case.kernel} {one.case.words}".rstrip(),
            one.target,
            f"{one.before.outcome} {one.before.digest}".rstrip(),
            f"{one.after.outcome} {one.after.digest}".rstrip(),
        )
        for one in found.changes
    ]
    _print(("case", "kernel", "target", before, after), rows)
    print(
        f"{len(rows)} differ, {found.same} are the same; {found.only[0]} in {before} only, {found.only[1]} in {after}"
    )
    return 0


def _case_id(connection: Connection, name: str) -> str:
    """As records spell it. UsageError with the nearest one for what no record has."""
    from bitgate.history import query

    if query.has_case(connection, name):
        return name
    from bitgate.cli.words import problems_named
    from bitgate.operation import case_id

    try:
        spelled = [case_id(problem) for problem in problems_named(name)]
    except UsageError:  # of an owner's operation, say: then it has to be spelled as records spell it
        spelled = []
    return next((one for one in spelled if query.has_case(connection, one)), "") or query.nearest(connection, name)


@contextmanager
def _reading(url: str, last: int) -> Iterator[tuple[Connection, list[Run]]]:
    from bitgate.history.query import last_runs
    from bitgate.history.store import opened

    with opened(url, must_exist=True) as store, store.reading() as connection:
        yield connection, last_runs(connection, last)


def _print(header: Sequence[str], rows: Sequence[Sequence[object]], indent: str = "") -> None:
    for line in columns(header, rows) if rows else []:
        print(indent + line)
