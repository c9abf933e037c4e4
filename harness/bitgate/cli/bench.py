"""``bitgate bench CASE...``: kernels are verified, then timed; two sides interleaved on one device."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from bitgate.cli.args import check_writable, options_named
from bitgate.core import paths
from bitgate.core.emulation import EMULATED
from bitgate.core.errors import UsageError, meant
from bitgate.core.progress import print_progress
from bitgate.core.project import Project
from bitgate.core.project_file import find
from bitgate.interop import Refused, in_words, reasons
from bitgate.kernel.loading import to_load, with_operations
from bitgate.model import case_id
from bitgate.numerics.fill import fill_names
from bitgate.results.record.identity import MOST_SEED
from bitgate.results.record.timing import Timing, TimingStatus
from bitgate.tools.bench import gate_run
from bitgate.tools.bench.arm import Arm, TimedShape
from bitgate.tools.bench.requests import TimedProblem, by_settings, ck_profiler_lines, notes, repeated, requested_shapes
from bitgate.tools.bench.settings import Settings, Significance

if TYPE_CHECKING:
    from bitgate.runtime.targets import Target
    from bitgate.tools.bench.compare import SweepComparison

app = typer.Typer(add_completion=False)

RECORD = "bench.jsonl"
PREVIOUS = "bench.prev.jsonl"
"""Where an earlier record goes that is not resumed."""

USUAL = Settings()


@dataclass(frozen=True)
class BenchArguments:
    """The command line, read."""

    shapes: tuple[TimedShape, ...]
    wanted: tuple[TimedProblem, ...]
    """What lines, lists and tables ask for: problems of ``shapes``."""
    refused: tuple[Refused, ...]
    sides: tuple[Arm, ...]
    settings: Settings
    significance: Significance
    target: Target
    project: Project
    journal: Path
    resume: bool
    json: bool


@app.command()
def bench(
    cases: Annotated[
        list[str] | None,
        typer.Argument(metavar="CASE...", help="Name case ids, or quoted CK, MIOpen or benchdnn lines."),
    ] = None,
    sweep: Annotated[
        str | None, typer.Option(metavar="NAME|FILE", help="Time the shapes of a sweep, of suites/sweeps or a file.")
    ] = None,
    case_list: Annotated[
        Path | None,
        typer.Option("--cases", metavar="FILE", help="Read more of them from a list; report refused lines."),
    ] = None,
    only: Annotated[
        str | None, typer.Option(metavar="GLOB", help="Time only shapes whose name or case id matches.")
    ] = None,
    kernel: Annotated[
        str | None,
        typer.Option(help="Choose kernels by family.instance [all but references]."),
    ] = None,
    option: Annotated[
        list[str] | None, typer.Option(metavar="NAME=VALUE", help="Set a kernel option; repeatable.")
    ] = None,
    compare: Annotated[
        str | None, typer.Option(metavar="GLOB", help="Compare with these kernels [those of side A].")
    ] = None,
    compare_option: Annotated[
        list[str] | None, typer.Option(metavar="NAME=VALUE", help="Compare with this option added to A's; repeatable.")
    ] = None,
    compare_commit: Annotated[
        str | None, typer.Option(metavar="REV", help="Compare with a build of this commit.")
    ] = None,
    compare_tree: Annotated[
        Path | None, typer.Option(metavar="DIR", help="Compare with a build of another checkout.")
    ] = None,
    target: Annotated[str | None, typer.Option(help="Run on this target: host, gfx942 ... [the best present].")] = None,
    dtype: Annotated[str | None, typer.Option(help="Time the sweep in these types: bf16, f16_f32_f16.")] = None,
    samples: Annotated[int, typer.Option(min=1, help="Take this number of samples of each kernel.")] = USUAL.samples,
    budget: Annotated[
        float, typer.Option(min=0, max=1e9, help="Spend at most these seconds on a shape, all kernels.")
    ] = USUAL.budget,
    cold: Annotated[bool, typer.Option("--cold", help="Overwrite the caches before each launch.")] = False,
    queued: Annotated[
        bool, typer.Option("--queued", help="Begin a sample once its launches are queued: device time.")
    ] = False,
    rotate: Annotated[int, typer.Option(min=1, help="Rotate through this number of buffer sets.")] = USUAL.rotate,
    fill: Annotated[str, typer.Option(help="Fill with exact or decimal data, as `bitgate verify` does.")] = USUAL.fill,
    seed: Annotated[
        int, typer.Option(min=0, max=MOST_SEED, help="Draw the data and each round's order from this seed.")
    ] = USUAL.seed,
    min_effect: Annotated[str, typer.Option(help="Ignore differences below this share.")] = "3%",
    level: Annotated[str, typer.Option(help="Allow this share of false winners in a sweep.")] = "5%",
    gate: Annotated[
        bool, typer.Option("--gate", help="End with 1 if this tree (B) is twice slower than --base (A).")
    ] = False,
    base: Annotated[
        str | None,
        typer.Option(metavar="REV|DIR", help="Compare with where this branch left REV, or with DIR [main]."),
    ] = None,
    load: Annotated[
        list[Path] | None,
        typer.Option(metavar="FILE", help="Load your kernels; run them alone unless --kernel is given."),
    ] = None,
    resume: Annotated[
        bool, typer.Option("--resume", help="Go on; keep what bench.jsonl has with these settings.")
    ] = False,
    out: Annotated[
        Path | None, typer.Option(metavar="DIR", help="Write <target>/bench.jsonl in this folder [out].")
    ] = None,
    markdown: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Write the comparison as Markdown, too.")
    ] = None,
    html: Annotated[Path | None, typer.Option("--html", metavar="FILE", help="Write a page of the tables.")] = None,
    plot: Annotated[Path | None, typer.Option(metavar="FILE", help="Draw the comparison as .svg or .png.")] = None,
    json_output: Annotated[bool, typer.Option("--json", help="Print one JSON document on stdout.")] = False,
) -> int:
    """Verify kernels, then time them, one side or two.

    A row has median and interval of a launch, TFlops and GB/s; a side B makes it a comparison. A foreign line is one of
    ckProfiler, a CK example, MIOpenDriver or benchdnn. Kernels that --load names are timed alone.

    What is not verified is never timed. Exit codes: 0 something was timed and nothing was wrong (what no kernel takes
    is reported), 1 something was not verified (a defect), 2 usage or environment, 3 nothing was timed, or of two sides
    nothing compared, 130 interrupted (what is done is kept: --resume).
    """
    from bitgate.runtime.targets import best, named

    if fill not in fill_names():
        raise UsageError(f"--fill {fill}: {', '.join(fill_names())} are known{meant(fill, fill_names(), 0.3)}")
    project = with_operations(find().loading(to_load(load)))
    shapes, wanted, refused = requested_shapes(cases or [], case_list, sweep, dtype, only, project)
    where = named(target) if target else best()
    if where.kind == EMULATED:
        raise UsageError(f"{where.name} is emulated: its seconds are the emulator's, so bench times nothing there")
    if queued and where.platform == "host":
        raise UsageError("--queued is about devices: the host's launches run on the threads that make them")
    second = _OtherArm(compare, compare_option, compare_commit, compare_tree)
    _check_gate(gate, base, second)
    sides = (
        gate_run.sides(project, base, kernel, options_named(option), print_progress)
        if gate
        else _sides(kernel, option, second, project)
    )
    if len(sides) < 2 and (markdown or plot):
        raise UsageError("--markdown and --plot show a comparison: say what side B is, --compare, --compare-option ...")
    if plot is not None:
        _check_plot(plot)
    asked = BenchArguments(
        shapes=tuple(shapes),
        wanted=tuple(wanted),
        refused=tuple(refused),
        sides=sides,
        settings=Settings(
            samples=samples, budget=budget, cold=cold, queued=queued, rotate=rotate, fill=fill, seed=seed
        ),
        significance=Significance(level=_share("--level", level), minimum_effect=_share("--min-effect", min_effect)),
        target=where,
        project=project,
        journal=(out.absolute() if out else paths.out_dir()) / where.name / RECORD,
        resume=resume,
        json=json_output,
    )
    check_writable(asked.journal, markdown, plot, html)
    for note in notes(wanted):
        print_progress(note)
    rows = _measured(asked)
    comparison = _compared(rows, asked) if len(sides) > 1 else None
    if gate:
        code = _gated(rows, asked, markdown)
    else:
        code = exit_code(rows)
        if comparison is not None and code == 0 and not any(one.compared for one in comparison.shapes):
            code = 3
        if json_output:
            print(json.dumps(_document(rows, comparison, asked, code), indent=2))
        else:
            _print_rows(rows, comparison, asked)
    if comparison is not None:
        _write(comparison, None if gate else markdown, plot)
    if html is not None:
        from bitgate.tools.bench.page import write_page

        write_page(html, rows, comparison, asked.significance)
    return code


def exit_code(rows: Sequence[Timing]) -> int:
    """1 if anything was wrong, or died, 3 if nothing was timed."""
    if any(_is_defect(row) for row in rows):
        return 1
    return 0 if any(row.status is TimingStatus.TIMED for row in rows) else 3


def _is_defect(row: Timing) -> bool:
    """Return whether a row counts as a defect. A kernel that could not be run for want of memory does not."""
    return row.status is TimingStatus.FAILED or (row.status is TimingStatus.NOT_VERIFIED and row.verdict != "NOT_RUN")


def _measured(asked: BenchArguments) -> list[Timing]:
    """Measure every row, and print each as it comes where nothing is compared."""
    from bitgate.tools.bench.perf import format_best, format_clocks, format_row
    from bitgate.tools.bench.sweep_run import measure

    rows: list[Timing] = []

    def begins() -> None:
        """Move an earlier record aside once the first row is there: a failure before that keeps it."""
        if not rows and not asked.resume and asked.journal.exists():
            asked.journal.replace(asked.journal.with_name(PREVIOUS))

    of_case: list[Timing] = []
    measured = (
        row
        for settings, shapes in by_settings(asked.shapes, asked.wanted, asked.settings)
        for row in measure(
            shapes,
            asked.sides,
            settings,
            asked.target,
            asked.project,
            journal=asked.journal,
            resume=asked.resume,
            progress=print_progress,
            begins=begins,
        )
    )
    alone = not asked.json and len(asked.sides) == 1
    try:
        for row in measured:
            rows.append(row)
            if not alone:
                continue
            if of_case and of_case[0].case != row.case:
                _close_case(of_case, format_best(of_case, asked.significance), format_clocks(of_case[-1]))
            if not of_case:
                print(f"{row.case}  {row.name}".rstrip() + f"\n{row.human}")
            of_case.append(row)
            for line in format_row(row, asked.significance):
                print(line, flush=True)
    except KeyboardInterrupt:
        print_progress(f"{len(rows)} rows are kept in {asked.journal}: --resume goes on")
        raise
    if of_case:
        _close_case(of_case, format_best(of_case, asked.significance), format_clocks(of_case[-1]))
    return rows


def _close_case(of_case: list[Timing], *closing: str) -> None:
    for line in filter(None, closing):
        print(line)
    print(flush=True)
    of_case.clear()


def _compared(rows: Sequence[Timing], asked: BenchArguments) -> SweepComparison:
    from bitgate.tools.bench.compare import compare

    return compare(rows, asked.significance)


def _print_rows(rows: Sequence[Timing], comparison: SweepComparison | None, asked: BenchArguments) -> None:
    if comparison is not None:
        from bitgate.tools.bench.table import text

        print(text(comparison))
    else:
        for line in ck_profiler_lines(asked.wanted, rows):
            print(line)
    counts = {status: sum(row.status is status for row in rows) for status in TimingStatus}
    print(", ".join(f"{count} {status.value}" for status, count in counts.items() if count) or "nothing was timed")
    for line in [*repeated(asked.wanted), *in_words(list(asked.refused), sum(one.count for one in asked.wanted))]:
        print(line)
    print(f"record: {asked.journal}")


def _write(comparison: SweepComparison, markdown: Path | None, plot: Path | None) -> None:
    if markdown is not None:
        from bitgate.tools.bench.table import markdown as in_markdown

        markdown.write_text(in_markdown(comparison))
    if plot is not None:
        if not any(one.compared for one in comparison.shapes):
            print_progress(f"{plot} is not written: nothing was compared")
            return
        from bitgate.tools.bench.plot import draw

        draw(comparison, plot)


def _check_plot(path: Path) -> None:
    """Raise UsageError for a plot that cannot be drawn, before anything is measured."""
    from bitgate.tools.bench.plot import SUFFIXES

    if path.suffix.lower() not in SUFFIXES:
        raise UsageError(f"--plot {path}: a plot is one of {', '.join(SUFFIXES)}")
    if find_spec("matplotlib") is None:
        raise UsageError("--plot needs matplotlib: pip install 'bitgate[plot]'")


def _check_gate(gate: bool, base: str | None, second: _OtherArm) -> None:
    if gate and second.is_stated:
        raise UsageError("--gate compares this tree with --base: leave --compare... out")
    if base is not None and not gate:
        raise UsageError("--base is what --gate measures against: add --gate, or say --compare-commit")


def _gated(rows: Sequence[Timing], asked: BenchArguments, markdown: Path | None) -> int:
    def again(suspects: Sequence[tuple[str, str]]) -> list[Timing]:
        print_progress(f"{len(suspects)} shapes have a winner, or seem slower: they are measured again")
        shapes = tuple(one for one in asked.shapes if (case_id(one.problem), one.name) in suspects)
        journal = asked.journal.with_name(gate_run.AGAIN)
        journal.unlink(missing_ok=True)
        return _measured(replace(asked, shapes=shapes, journal=journal, resume=False))

    ruling = gate_run.ruled(rows, asked.significance, again, asked.journal.parent, asked.target.name)
    ruled = gate_run.print_ruling(ruling, asked.json, markdown)
    if asked.json:
        document = _document(rows, None, asked, ruling.exit_code)
        document["summary"]["gate"] = ruled
        print(json.dumps(document, indent=2))
    return ruling.exit_code


def _document(
    rows: Sequence[Timing], comparison: SweepComparison | None, asked: BenchArguments, code: int
) -> dict[str, Any]:
    import msgspec

    from bitgate.tools.bench.perf import summary

    totals = summary(rows, asked.significance) | {"exit": code, "record": str(asked.journal)}
    totals |= {"refused_lines": [reason.as_json() for reason in reasons(list(asked.refused))]}
    totals |= {"lines": [one.as_json() for one in asked.wanted if one.line]}
    if comparison is not None:
        totals |= comparison.as_json()
    return {"rows": [msgspec.to_builtins(row) for row in rows], "summary": totals}


@dataclass(frozen=True)
class _OtherArm:
    """Arguments that describe side B of a comparison."""

    kernel: str | None
    options: list[str] | None
    commit: str | None
    tree: Path | None

    @property
    def is_stated(self) -> bool:
        return any((self.kernel, self.options, self.commit, self.tree))


def _sides(kernel: str | None, option: list[str] | None, second: _OtherArm, project: Project) -> tuple[Arm, ...]:
    from bitgate.tools.bench.trees import commit_of, sources_of

    options = options_named(option)
    if not second.is_stated:
        return (Arm("", kernel, options),)
    if second.commit and second.tree:
        raise UsageError("--compare-commit and --compare-tree both say what side B is built of: give one")
    tree, build = second.tree, ""
    if second.tree is not None:
        build = str(second.tree)
    if second.commit is not None:
        commit = commit_of(project, second.commit, "--compare-commit")
        print_progress(f"side B: the sources of {commit[:12]}")
        tree, build = sources_of(project, commit), commit
    other = Arm("B", second.kernel or kernel, options | options_named(second.options), tree, build)
    first = Arm("A", kernel, options)
    if (first.kernel, first.options, first.tree) == (other.kernel, other.options, other.tree):
        print_progress("side B is side A: whatever differs is noise")
    return first, other


def _share(option: str, text: str) -> float:
    """Parse a share: ``3%`` or ``0.03``."""
    match = re.fullmatch(r"(\d+(?:\.\d+)?|\.\d+)\s*(%?)", text.strip())
    value = float(match[1]) / (100 if match[2] else 1) if match else 1.0
    if not 0 <= value < 1:
        raise UsageError(f"{option} {text}: give a share below 1, as 3% or 0.03")
    return value
