"""The judging of a submission: every problem in one process of kernels, in an order that it cannot foresee."""

from __future__ import annotations

import ast
import json
import secrets
import shutil
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np

from bitgate.core import paths
from bitgate.core.errors import UsageError
from bitgate.core.project import Project, ours
from bitgate.kernel.build.builder import Builder
from bitgate.kernel.loading import with_operations
from bitgate.model import parse_case_id
from bitgate.model.dtype import DTYPES
from bitgate.numerics import native
from bitgate.results.record import Outcome, Verdict
from bitgate.tools.judge.conventions import CUSTOM, NEW_MODEL, names_in
from bitgate.tools.judge.operation import RULE
from bitgate.tools.judge.problems import JudgedCase, Problems, of_file, of_operation
from bitgate.verify.one_case import problem_of
from bitgate.verify.planned import PlannedCase
from bitgate.verify.process import CaseProcess, Opening
from bitgate.verify.selection import candidates, select_for
from bitgate.worker import sandbox

DECLARATION = "FAMILY"
AGAIN = 4
"""Cases that are judged once more at the end, on other data: of a submission that counts its calls."""
DECLARATION_FILE = '''"""The submission {file} as a kernel: bitgate judge wrote this file."""

import json
from pathlib import Path

from bitgate.tools.judge.submission import family_of

HERE = Path(__file__).parent
FACTS = json.loads((HERE / "facts.json").read_text()) if (HERE / "facts.json").is_file() else None
FAMILY = family_of(
    file={file!r},
    name={name!r},
    operation={operation!r},
    dtypes={dtypes!r},
    layouts={layouts!r},
    ndims={ndims!r},
    torch={torch!r},
    facts=FACTS,
)
'''


@dataclass(frozen=True)
class JudgeRequest:
    """What a command asks: a submission's file, a task, and how many problems are drawn around it."""

    submission: Path
    task: str
    tier: str = "smoke"
    problems: int = 16
    seed: int | None = None
    own: bool = False
    arguments: Mapping[str, Any] = field(default_factory=dict)
    memory: int = 8 << 30
    seconds: float = 120.0
    """The limit of one case."""


Hear = Callable[[JudgedCase, Verdict], None]


def judge(request: JudgeRequest, hear: Hear, progress: Callable[[str], None]) -> dict[str, Any]:
    """Return the report on a submission as data; ``hear`` gets each verdict as it comes.

    UsageError for a task or a submission that cannot be judged.
    """
    seed = secrets.randbelow(1 << 31) if request.seed is None else request.seed
    submission = request.submission.absolute()
    kind = _kind(submission)
    Builder("host", progress).runtime()  # where the submission runs, nothing can be built
    native.library()
    with _sandbox(request.memory) as measures:
        if request.task.endswith(".py"):
            task = of_file(Path(request.task), request.arguments, request.problems, seed, request.own)
            if kind == DECLARATION:
                raise UsageError(f"{submission}: a declaration is judged on operations of bitgate, not on a task's file")
        else:
            task = of_operation(request.task, request.tier, request.problems, seed, _takes_problem(submission, kind))
        project = with_operations(ours().loading([_declared(submission, kind, task)]))
        verdicts = list(_verdicts(request, task, project, seed, hear, progress))
    return _report(request, task, kind, seed, measures, verdicts)


def _kind(submission: Path) -> str:
    names = names_in(submission)
    kind = next((one for one in (DECLARATION, CUSTOM, NEW_MODEL) if one in names), None)
    if kind is None:
        raise UsageError(f"{submission}: a submission defines {CUSTOM}, {NEW_MODEL} or {DECLARATION}")
    return kind


def _takes_problem(submission: Path, kind: str) -> bool:
    if kind != CUSTOM:
        return kind == DECLARATION
    functions = [one for one in ast.parse(submission.read_text()).body if isinstance(one, ast.FunctionDef)]
    return any(one.name == CUSTOM and len(one.args.args) > 1 for one in functions)


def _declared(submission: Path, kind: str, task: Problems) -> Path:
    """Return the submission's declaration; for a function or a module bitgate writes it."""
    if kind == DECLARATION:
        return submission
    problems = [] if task.facts else [problem_of(one.case) for one in task.cases]
    stated = {
        "file": str(submission),
        "name": kind,
        "operation": task.operation,
        "dtypes": tuple(dict.fromkeys(one.dtypes.canonical for one in problems)) or (task.facts or {})["dtype"],
        "layouts": tuple(dict.fromkeys(one.layout for one in problems if one.layout)),
        "ndims": tuple(dict.fromkeys(one.ndim for one in problems)),
        "torch": bool(task.facts["torch"]) if task.facts else "torch" in names_in(submission),
    }
    if task.facts:
        stated["dtypes"] = (str(stated["dtypes"]),)
    text = DECLARATION_FILE.format(**stated)
    folder = task.folder or paths.cache_dir() / "judge" / sha256(text.encode()).hexdigest()[:16]
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "declaration.py").write_text(text)
    return folder / "declaration.py"


@contextmanager
def _sandbox(memory: int) -> Iterator[list[str]]:
    """State the sandbox of all children, with a private folder that is removed with them."""
    folder = Path(tempfile.mkdtemp(prefix="bitgate-judge-"))
    try:
        yield sandbox.prepare(folder, memory)
    finally:
        sandbox.leave()
        shutil.rmtree(folder, ignore_errors=True)


def _verdicts(
    request: JudgeRequest,
    task: Problems,
    project: Project,
    seed: int,
    hear: Hear,
    progress: Callable[[str], None],
) -> Iterator[tuple[JudgedCase, Verdict]]:
    order = np.random.default_rng(seed).permutation(len(task.cases)).tolist()
    kernels = candidates(None, {}, "host", project)
    rounds = [(task.cases[place], 0) for place in order] + [(task.cases[place], 1) for place in order[:AGAIN]]
    with CaseProcess(Opening("host", project), progress=progress) as process:
        for one, again in rounds:
            problem = parse_case_id(one.case)
            selection = select_for(problem, kernels)
            for kernel in selection.supporting or [kernel for kernel, _ in selection.refusing]:
                planned = PlannedCase(problem, kernel, fill=one.fill, seed=(seed + 7919 * again) % (1 << 31))
                verdict = process.verify(planned, request.seconds)
                hear(one, verdict)
                yield one, verdict


def _report(
    request: JudgeRequest,
    task: Problems,
    kind: str,
    seed: int,
    measures: list[str],
    verdicts: list[tuple[JudgedCase, Verdict]],
) -> dict[str, Any]:
    red = [verdict for _, verdict in verdicts if not verdict.green and verdict.outcome is not Outcome.NOT_RUN]
    compared = [verdict for _, verdict in verdicts if verdict.compared]
    refused = [verdict for _, verdict in verdicts if verdict.outcome is Outcome.REFUSED]
    wrong = bool(red or (compared and refused))
    code = 1 if wrong else 0 if compared and all(verdict.green for _, verdict in verdicts) else 3
    first = next(iter(red), None)
    return {
        "submission": str(request.submission),
        "task": request.task,
        "kind": "declaration" if kind == DECLARATION else "callable",
        "verdict": {0: "right", 1: "wrong", 3: "nothing vouched for"}[code],
        "exit": code,
        "diagnosis": None if first is None else _sentence(first),
        "seed": seed,
        "time": "untimed",
        "sandbox": ["expected values in another process", *measures],
        "rule": RULE if task.facts else "bounds of the operation (docs/exactness.md)",
        "notes": [*task.notes, *_types(task)],
        "summary": {
            "cases": len(verdicts),
            "compared": len(compared),
            "red": len(red),
            "outcomes": dict(Counter(verdict.outcome.value for _, verdict in verdicts)),
            "groups": dict(Counter(one.group for one, _ in verdicts)),
        },
        "problems": [_row(one, verdict) for one, verdict in verdicts],
    }


def _types(task: Problems) -> list[str]:
    dtype = task.facts and DTYPES[task.facts["dtype"]]
    return [f"all reals are {dtype}, as the task draws them"] if dtype else []


def _sentence(verdict: Verdict) -> str:
    return verdict.diagnosis.sentence if verdict.diagnosis else verdict.reason


def _row(one: JudgedCase, verdict: Verdict) -> dict[str, Any]:
    return {
        "case": verdict.key.case,
        "group": one.group,
        "fill": one.fill,
        "outcome": verdict.outcome.value,
        "green": verdict.green,
        "compared": verdict.compared,
        "reason": "" if verdict.green and verdict.compared else _sentence(verdict) or verdict.reason,
        "kinds": list(verdict.diagnosis.kinds) if verdict.diagnosis else [],
        "error": verdict.error or None,
    }


def as_text(report: Mapping[str, Any]) -> str:
    return json.dumps(report, indent=2)
