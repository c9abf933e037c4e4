"""The judging of a submission: every problem in one process of kernels, in an order that it cannot foresee."""

from __future__ import annotations

import ast
import secrets
import shutil
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from hashlib import sha256
from importlib.util import find_spec
from pathlib import Path
from time import monotonic
from typing import Any

import numpy as np

from bitgate.core import paths
from bitgate.core.errors import UsageError
from bitgate.core.files import write_whole
from bitgate.core.project import Project, ours
from bitgate.core.untrusted import shown
from bitgate.kernel.build.builder import Builder
from bitgate.kernel.build.errors import BuildError
from bitgate.kernel.loading import with_operations
from bitgate.kernel.registry import load_family
from bitgate.kernel.resolved import Kernel
from bitgate.model import parse_case_id
from bitgate.numerics import native
from bitgate.results.record import Verdict
from bitgate.runtime.targets import Target, named
from bitgate.runtime.tools_abi import family as tools_family
from bitgate.tools.judge import control
from bitgate.tools.judge.control import CONTROL, blamed
from bitgate.tools.judge.conventions import CUSTOM, NEW_MODEL, names_in
from bitgate.tools.judge.declared import declare_judged, why_not_built
from bitgate.tools.judge.device_code import declare_device_code, is_device_only
from bitgate.tools.judge.findings import Findings
from bitgate.tools.judge.problems import JudgedCase, Problems, of_file, of_operation
from bitgate.tools.judge.timing import timed
from bitgate.tools.judge.trial import RUNTIMES, SubmissionTrial, load_seconds
from bitgate.verify.launcher_process import LauncherProcess
from bitgate.verify.one_case import problem_of
from bitgate.verify.planned import PlannedCase
from bitgate.verify.process import CaseProcess, Opening
from bitgate.verify.selection import candidates, select_for
from bitgate.worker import sandbox

DECLARATION = "FAMILY"
SOURCES = (".cu", ".hip", ".cpp", ".cc")
AGAIN = 4
"""Cases that are judged once more at the end, on other data: of a submission that counts its calls."""
DECLARATION_FILE = '''"""The submission {file} as a kernel: bitgate judge wrote this file."""

import json
from pathlib import Path

from bitgate.tools.judge.submission import family_of

FACTS = {facts!r}
FAMILY = family_of(
    file={file!r},
    name={name!r},
    operation={operation!r},
    dtypes={dtypes!r},
    layouts={layouts!r},
    ndims={ndims!r},
    torch={torch!r},
    platform={platform!r},
    facts=FACTS and json.loads(Path(FACTS).read_text()),
)
'''


@dataclass(frozen=True)
class JudgeRequest:
    """The submission's file, the task, and how many problems are drawn around it."""

    submission: Path
    task: str
    target: str = "host"
    tier: str = "smoke"
    problems: int = 16
    seed: int | None = None
    own: bool = False
    arguments: Mapping[str, Any] = field(default_factory=dict)
    dtypes: tuple[str, ...] = ()
    """Types of reals that are judged next to the task's own."""
    memory: int = 8 << 30
    seconds: float = 60.0
    """The limit of one case."""
    budget: float = 600.0
    """Seconds after which no further case is begun."""
    samples: int = 0
    """Samples of each time; 0: nothing is timed."""


Hear = Callable[[JudgedCase, Verdict], None]


def judge(request: JudgeRequest, hear: Hear, progress: Callable[[str], None]) -> dict[str, Any]:
    """Return the report on a submission as data; ``hear`` gets each verdict as it comes.

    UsageError for a task or a submission that cannot be judged.
    """
    seed = secrets.randbelow(1 << 31) if request.seed is None else request.seed
    until = monotonic() + request.budget
    submission = file_of(request.submission.absolute())
    kind, target = kind_of(submission), named(request.target)
    _build_ahead(target, progress)
    reads = [*_files_of(submission, kind), paths.cache_dir()]
    if request.task.endswith(".py"):
        reads.append(Path(request.task).absolute().parent)
    with _sandbox(request.memory, target.platform != "host", reads) as measures:
        if request.task.endswith(".py"):
            stated = request.arguments, request.dtypes, request.problems, seed, request.own, kind == DECLARATION
            task = of_file(Path(request.task), *stated)
        else:
            takes_problem = _takes_problem(submission, kind)
            task = of_operation(request.task, request.tier, request.problems, seed, takes_problem)
        found = Findings(request, task, kind, seed, measures)
        added = [] if task.folder is None else [task.folder / "operation.py"]
        operations = with_operations(replace(ours(), operations=(*ours().operations, *added)))
        declaration, is_trusted = submission, False
        if kind == DECLARATION:
            declaration, is_trusted = _device_code(found, submission, target)
        else:
            _check_task(task, target)
            _try(found, submission, target.platform)
        if not found.does_not_load:
            project = with_operations(operations.loading([_declaration(declaration, kind, task, target.platform)]))
            controls = operations.loading([_declaration(Path(control.__file__), CONTROL, task, target.platform)])
            kernels = candidates(None, {}, target.name, project)
            try:
                for one, verdict in _verdicts(found, project, controls, kernels, target, until, progress):
                    found.verdicts.append((one, verdict))
                    hear(one, verdict)
            except UsageError as error:
                _check_opening(target)
                why = _own_words(error, declaration)
                found.does_not_load = f"its process answered with no verdict: {shown(why)}"
            if request.samples and found.exit == 0:
                limits = request.samples, request.seconds, until
                found.times = timed(found.right, project, target.name, is_trusted, *limits)
    return found.report()


def _build_ahead(target: Target, progress: Callable[[str], None]) -> None:
    """Build what the launcher needs: where a submission runs, nothing can be built."""
    builder = Builder(target.platform, progress, arch=None if target.platform == "host" else target.name)
    builder.runtime()
    if target.platform != "host":
        builder.family(tools_family())
    native.library()


def _check_opening(target: Target) -> None:
    """Raise UsageError if no process for kernels opens here, whatever runs in it."""
    with LauncherProcess(target.name, ours().as_json(), {}, lambda *note: None) as launcher:
        launcher.wait()


def _check_task(task: Problems, target: Target) -> None:
    """Raise UsageError for a task whose tensors a function cannot get on a target."""
    if target.platform != "host" and task.facts is not None and not task.facts["torch"]:
        raise UsageError(f"--target {target.name}: the task's tensors are numpy's, in the host's memory: use torch's")


def _device_code(found: Findings, declaration: Path, target: Target) -> tuple[Path, bool]:
    """Return the declaration that is judged, and whether nothing of its author's host code runs where it is
    launched."""
    folder = paths.cache_dir() / "judge" / sha256(f"{declaration} {target.name}".encode()).hexdigest()[:16]
    judged = declare_judged(declaration, folder / "judged")
    try:
        family = load_family(judged)
    except UsageError as error:
        if missing := [one for one in RUNTIMES if f"No module named '{one}'" in str(error) and find_spec(one) is None]:
            raise UsageError(f"{declaration}: needs the module {missing[0]}, which is not installed here") from None
        found.does_not_load = f"its file does not load: {shown(_own_words(error, judged))}"
        return judged, False
    if target.platform not in family.platforms:
        named = ", ".join(family.platforms)
        raise UsageError(f"--target {target.name}: {declaration}: its kernels are for {named}: name a target of these")
    if why := why_not_built(family, declaration.parent):
        found.does_not_load = why
    elif is_device_only(family, target.platform):
        try:
            return declare_device_code(declaration, family, target.name, folder / "device"), True
        except BuildError:  # each case says so
            pass
        except UsageError as error:
            found.notes.append(f"its time cannot be trusted: {error}")
    return judged, False


def _own_words(error: UsageError, judged: Path) -> str:
    """Return an error without the file around the submission, which bitgate wrote: messages are bounded."""
    return str(error).removeprefix(f"{judged}: ")


def _try(found: Findings, submission: Path, platform: str) -> None:
    """Load the submission once where nothing else is, and call it where a length is zero."""
    trial = SubmissionTrial(submission, found.kind, found.request.seconds, platform)
    try:
        found.does_not_load = trial.why_not_loaded()
        for problem in found.task.zero if not found.does_not_load else ():
            found.zero[problem["name"]] = trial.of_zero_length(found.task.facts or {}, problem, found.seed)
    finally:
        trial.end()


def file_of(submission: Path) -> Path:
    """Return the Python file of a submission: the declaration of a folder, or of a source. UsageError without one."""
    is_source = submission.suffix in SOURCES
    if not is_source and not submission.is_dir():
        return submission
    file = (submission.parent if is_source else submission) / "declaration.py"
    if not file.is_file():
        raise UsageError(
            f"{submission}: needs a declaration.py that states its launches: {file} (docs/first_kernel.md)"
        )
    return file


def kind_of(submission: Path) -> str:
    """Return which of the three names a submission's file defines. UsageError if it defines none."""
    names = names_in(submission)
    kind = next((one for one in (DECLARATION, CUSTOM, NEW_MODEL) if one in names), None)
    if kind is None:
        raise UsageError(f"{submission}: a submission defines {CUSTOM}, {NEW_MODEL} or {DECLARATION}")
    return kind


def _files_of(submission: Path, kind: str) -> list[Path]:
    """Return what its process reads: a declaration has sources around it, a function is one file."""
    return [submission.parent if kind == DECLARATION else submission]


def _takes_problem(submission: Path, kind: str) -> bool:
    if kind != CUSTOM:
        return kind == DECLARATION
    functions = [one for one in ast.parse(submission.read_text()).body if isinstance(one, ast.FunctionDef)]
    return any(one.name == CUSTOM and len(one.args.args) > 1 for one in functions)


def _declaration(submission: Path, kind: str, task: Problems, platform: str) -> Path:
    """Return the submission's declaration; for a function or a module bitgate writes it.

    Its folder is this submission's: another one may be judged on the same task at the same time.
    """
    if kind == DECLARATION:
        return submission
    problems = [] if task.facts else [problem_of(one.case) for one in task.cases]
    own = [one["dtype"] for one in task.facts["problems"]] if task.facts else []
    text = DECLARATION_FILE.format(
        file=str(submission),
        name=kind,
        operation=task.operation,
        dtypes=tuple(dict.fromkeys([*own, *(one.dtypes.canonical for one in problems)])),
        layouts=tuple(dict.fromkeys(one.layout for one in problems if one.layout)),
        ndims=tuple(dict.fromkeys(one.ndim for one in problems)),
        torch=bool(task.facts["torch"]) if task.facts else platform != "host" or "torch" in names_in(submission),
        platform=platform,
        facts="" if task.folder is None else str(task.folder / "facts.json"),
    )
    folder = paths.cache_dir() / "judge" / sha256(text.encode()).hexdigest()[:16]
    folder.mkdir(parents=True, exist_ok=True)
    write_whole(folder / "declaration.py", text)
    return folder / "declaration.py"


@contextmanager
def _sandbox(memory: int, of_gpu: bool, reads: Sequence[Path]) -> Iterator[list[str]]:
    """State the sandbox of all children, with a private folder that is removed with them."""
    folder = Path(tempfile.mkdtemp(prefix="bitgate-judge-"))
    try:
        yield sandbox.prepare(folder, memory, of_gpu, reads)
    finally:
        sandbox.leave()
        shutil.rmtree(folder, ignore_errors=True)


def _verdicts(
    found: Findings,
    project: Project,
    controls: Project,
    kernels: Sequence[Kernel],
    target: Target,
    until: float,
    progress: Callable[[str], None],
) -> Iterator[tuple[JudgedCase, Verdict]]:
    task, request = found.task, found.request
    order = np.random.default_rng(found.seed).permutation(len(task.cases)).tolist()
    rounds = [(task.cases[place], 0) for place in order] + [(task.cases[place], 1) for place in order[:AGAIN]]
    with CaseProcess(Opening(target.name, project), progress=progress) as process:
        for place, (one, again) in enumerate(rounds):
            if why := found.why_stop(monotonic() > until):
                found.notes.append(f"{len(rounds) - place} of {len(rounds)} cases were not judged: {why}")
                found.is_cut = True
                return
            problem = parse_case_id(one.case)
            selection = select_for(problem, kernels)
            if not selection.supporting:
                refusals = [f"{refusal.clause}: {refusal.text}" for _, refusal in selection.refusing]
                found.refused[one.case] = next(iter(refusals), "its declaration does not name such problems")
            for kernel in selection.supporting:
                other = (found.seed + 7919 * again) % (1 << 31)
                planned = PlannedCase(problem, kernel, fill=one.fill, seed=other, target=target.name)
                # The first case waits for the task, too: a runtime that is imported takes its time.
                seconds = request.seconds + (0.0 if place else load_seconds(target.platform))
                yield one, blamed(process.verify(planned, seconds), planned, controls, seconds)
