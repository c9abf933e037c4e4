"""Results files with the plan next to each, in whatever state they are: unreadable parts are reported, not dropped."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timezone
from pathlib import Path

from bitgate.core.errors import UsageError
from bitgate.core.files import folders_below
from bitgate.results.plan import Plan, PlanError
from bitgate.results.record import BadLine, RecordError, Verdict, scan
from bitgate.results.shard import Shard

RESULTS = "results.jsonl"
PLAN = "plan.json"

BAD_LINES_SHOWN = 20
"""Bad lines of a file that are reported one by one; with more of them the file is reported as damaged, once."""


@dataclass(frozen=True)
class Source:
    file: Path
    verdicts: tuple[Verdict, ...] = ()
    plan: Plan | None = None
    flaws: tuple[str, ...] = ()
    """A sentence for each part that could not be read."""
    started: str = ""
    content: str = ""
    """Hash of both files and the shard, since a copy of a file is no second result."""
    shard: Shard | None = None
    jobs: frozenset[tuple[str, str]] = field(default=frozenset())
    """Run id and job of the verdicts that state them."""

    @property
    def targets(self) -> set[str]:
        planned = {self.plan.target} if self.plan else set()
        return planned | {verdict.key.target for verdict in self.verdicts}

    @property
    def attempt(self) -> tuple[str, int] | None:
        """Run id and latest attempt of the file; None if its verdicts do not state them, or are of several runs."""
        stamps = [verdict.run for verdict in self.verdicts if verdict.run]
        if len(stamps) != len(self.verdicts) or len({stamp.id for stamp in stamps}) != 1:
            return None
        return stamps[0].id, max(stamp.attempt for stamp in stamps)


def find_sources(paths: Sequence[Path], *, may_be_empty: bool = False) -> tuple[Source, ...]:
    """Read results files, or those that folders hold at any depth; copies count once.

    UsageError if a path does not exist, or holds none and ``may_be_empty`` is not set.
    """
    files = results_files(paths, may_be_empty=may_be_empty)
    return tuple({source.content: source for source in map(read_source, files)}.values())


def results_files(paths: Sequence[Path], *, may_be_empty: bool = False) -> list[Path]:
    """Return the paths of the files that ``find_sources`` reads, each once."""
    # A link keeps its place: the plan is next to it, not next to what a store of artifacts calls its content.
    found = (file for path in paths for file in _results_files(path, may_be_empty))
    return sorted({file.parent.resolve() / file.name for file in found})


def _results_files(path: Path, may_be_empty: bool) -> Iterable[Path]:
    if path.is_file() or (path.name == RESULTS and path.with_name(PLAN).is_file()):
        return [path]
    if not path.is_dir():
        raise UsageError(f"{path}: no such file or folder; give a {RESULTS} or a folder that holds some")
    # A plan without results is a run that died before its first verdict: all its cases are reported as lost.
    found = {folder / RESULTS for folder, names in folders_below(path) if {PLAN, RESULTS} & names}
    if not found and not may_be_empty:
        raise UsageError(f"{path}: holds no {RESULTS} at any depth; run `bitgate run` first, or give another folder")
    return found


def _plan_of(file: Path) -> Path:
    """Return the place of the plan next to a results file; next to what it links to, if it stands alone."""
    beside = file.with_name(PLAN)
    return beside if beside.exists() else file.resolve().with_name(PLAN)


def read_source(file: Path) -> Source:
    plan_path = _plan_of(file)
    flaws: list[str] = []
    plan, verdicts = None, []
    try:
        plan = Plan.read(plan_path) if plan_path.exists() else None
    except PlanError as error:
        flaws.append(str(error))
    try:
        lines = list(scan(file)) if file.exists() else []
        verdicts = [line for line in lines if isinstance(line, Verdict)]
        flaws += _bad_lines(file, [line for line in lines if isinstance(line, BadLine)])
    except RecordError as error:
        flaws.append(str(error))
    if not (plan or verdicts or flaws):
        flaws.append(f"{file}: it holds no verdict, and no plan is next to it: its run died before its first verdict")
    stamps = [verdict.run for verdict in verdicts if verdict.run]
    shard = _shard(file, plan, {stamp.shard for stamp in stamps if stamp.shard})
    return Source(
        file=file,
        verdicts=tuple(verdicts),
        plan=plan,
        flaws=tuple(flaws),
        started=_time(plan.created if plan else "") or _modified(file, plan_path),
        content=_hash(file, plan_path, str(shard)),
        shard=shard,
        jobs=frozenset((stamp.id, stamp.job) for stamp in stamps if stamp.job),
    )


def _bad_lines(file: Path, bad: Sequence[BadLine]) -> list[str]:
    if len(bad) > BAD_LINES_SHOWN:
        return [f"{file}: {len(bad)} lines cannot be read, the first is line {bad[0].number}: {bad[0].why}"]
    return [f"{file}:{line.number}: {line.why}" for line in bad]


def _shard(file: Path, plan: Plan | None, shards: set[str]) -> Shard | None:
    """Return the shard that plan or record state; for an older record the one that its folder is named after."""
    texts = [plan.shard] if plan and plan.shard else sorted(shards)
    try:
        return Shard.parse(texts[0]) if texts else Shard.of_folder(file.parent.name)
    except UsageError:
        return None


def _hash(file: Path, plan_path: Path, shard: str) -> str:
    digest = hashlib.sha256(shard.encode())
    known = False
    for path in (file, plan_path):
        try:
            data = path.read_bytes() if path.is_file() else b""
        except OSError:
            data = b""
        known |= bool(data)
        digest.update(len(data).to_bytes(8, "little") + data)
    return digest.hexdigest() if known else str(file)


def _time(stated: str) -> str:
    """Return the text if it is a time with a zone, else nothing."""
    try:
        return stated if datetime.fromisoformat(stated).tzinfo else ""
    except ValueError:
        return ""


def _modified(*files: Path) -> str:
    seconds = next((int(file.stat().st_mtime) for file in files if file.exists()), 0)
    return datetime.fromtimestamp(seconds, timezone.utc).isoformat()
