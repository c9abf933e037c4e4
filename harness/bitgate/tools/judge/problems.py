"""The problems that a submission is judged on: of a task's file, or of an operation of bitgate."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np

from bitgate.core import paths
from bitgate.core.errors import UsageError
from bitgate.core.files import write_whole
from bitgate.core.project import ours
from bitgate.core.untrusted import printable
from bitgate.model import Problem, ProblemError, parse_case_id
from bitgate.model.registry import operations
from bitgate.suite.problems import problems_of
from bitgate.tools.judge.conventions import FUNCTION, MODEL, names_in
from bitgate.tools.judge.drawing import Sizes, around, tails
from bitgate.tools.judge.survey import ENTRY, SurveyTask
from bitgate.worker.worker import Worker, WorkerDied

SURVEY_SECONDS = 600.0
MOST_BYTES = 1 << 26
"""The bytes of a problem that is drawn around a case."""
OPERATION_FILE = '''"""The task {file}, as bitgate judge surveyed it: bitgate wrote this file."""

import json
from pathlib import Path

from bitgate.tools.judge.operation import TaskOperation

FACTS = json.loads((Path(__file__).parent / "facts.json").read_text())
OPERATIONS = (TaskOperation({name!r}, {file!r}, {arguments!r}, FACTS),)
'''


@dataclass(frozen=True)
class JudgedCase:
    """A case id with its data, and the ``group`` that says how it came about."""

    case: str
    fill: str
    group: str


@dataclass(frozen=True)
class Problems:
    """The cases of one task; ``facts`` and ``folder`` are those of a task's file, with its generated operation."""

    operation: str
    cases: tuple[JudgedCase, ...]
    facts: Mapping[str, Any] | None = None
    folder: Path | None = None
    notes: tuple[str, ...] = ()
    zero: tuple[Mapping[str, Any], ...] = ()
    """Problems with a length of zero, with their results; ``facts`` have none of that."""


def of_file(
    file: Path, arguments: Mapping[str, Any], dtypes: Sequence[str], most: int, seed: int, own: bool, is_named: bool
) -> Problems:
    """Survey a task's file in a child, and write its operation. UsageError says what cannot be judged, and why.

    One that ``is_named`` by a declaration has a name that its author can foresee.
    """
    file = file.absolute()
    if not {MODEL, FUNCTION} & names_in(file):
        raise UsageError(f"{file}: a task defines Model and get_inputs, or ref_kernel and generate_input")
    worker = Worker(ENTRY, _to_stderr)
    question = SurveyTask(str(file), dict(arguments), tuple(dtypes), most, seed, own)
    try:
        facts: dict[str, Any] = worker.ask(question, SURVEY_SECONDS)
    except WorkerDied as ended:
        raise UsageError(f"{file}: while it was surveyed: {ended.reason.replace('verdict', 'answer')}") from None
    finally:
        worker.end()
    zero, notes = tuple(facts.pop("zero")), tuple(facts.pop("notes"))
    text = json.dumps(facts)
    mark = sha256(f"{file} {is_named} {dict(arguments)} {text}".encode()).hexdigest()[:16]
    name = f"task_{re.sub('[^a-z0-9]+', '_', file.stem.lower()).strip('_')}"
    name += "" if is_named else f"_{mark[:6]}"
    folder = paths.cache_dir() / "judge" / mark
    folder.mkdir(parents=True, exist_ok=True)
    write_whole(folder / "facts.json", text)
    write_whole(folder / "operation.py", OPERATION_FILE.format(file=str(file), name=name, arguments=dict(arguments)))
    cases = tuple(
        JudgedCase(f"{name}_{one['dtype']}_{_spelt(one['sizes'])}{'_gap' * one['gap']}", fill, _group(one))
        for one in facts["problems"]
        for fill in one["fills"]
    )
    return Problems(name, cases, facts, folder, notes, zero)


def of_operation(task: str, tier: str, most: int, seed: int, takes_problem: bool) -> Problems:
    """Return the problems of an operation's tier, or of case ids and around them. UsageError for an unknown one."""
    known = operations()
    if task in known:
        found = [(one, tier) for one in problems_of(task, tier, ours().tables())]
    else:
        try:
            found = [(parse_case_id(one), "own") for one in task.split(",")]
        except ProblemError as error:
            raise UsageError(f"--task {task}: no file, no operation ({', '.join(known)}), no case: {error}") from None
    if len({problem.operation.name for problem, _ in found}) > 1:
        raise UsageError(f"--task {task}: name cases of one operation")
    kept = [(problem, group) for problem, group in found if takes_problem or not problem.attributes]
    left = len(found) - len(kept)
    if not kept:
        why = "all have attributes, which only custom_kernel(data, problem) is told" if found else "there are none"
        raise UsageError(f"--task {task}: no case to judge on: {why}")
    if task in known:
        order = np.random.default_rng(seed).permutation(len(kept))
        kept = [kept[place] for place in sorted(order[:most])]
    near = [_near(problem, most, seed) for problem, group in kept if group == "own"] or [_near(kept[0][0], 0, seed)]
    drawn = [one for tails, _ in near for one in tails]
    drawn += [one for _, others in near for one in others][: max(0, most - len(kept) - len(drawn))]
    chosen = [*kept, *((one, "drawn") for one in drawn if takes_problem or not one.attributes)]
    cases = tuple(
        JudgedCase(problem.operation.spell(problem), fill, group)
        for problem, group in chosen
        for fill in ("exact", "decimal")
        if fill == "exact" or all(tensor.dtype.is_float for tensor in problem.tensors.values())
    )
    notes = (f"{left} cases with attributes were left out: custom_kernel takes no problem",) if left else ()
    return Problems(kept[0][0].operation.name, cases, notes=notes)


def _near(problem: Problem, most: int, seed: int) -> tuple[list[Problem], list[Problem]]:
    """Return problems around one: those that have a tail in each length, and ``most`` others."""
    space = problem.operation.space
    base = {name: n for name, n in space.lengths_of(problem).items() if n > 0}

    def near(sizes: Sizes) -> Problem | None:
        try:
            found: Problem = space.with_lengths(problem, sizes)
        except ProblemError:
            return None
        return found if sum(tensor.bytes for tensor in found.tensors.values()) < MOST_BYTES else None

    first = tails(base, lambda sizes: near(sizes) is not None)
    others = (one for sizes in around(base, seed) if sizes not in first and (one := near(sizes)) is not None)
    return [one for sizes in first if (one := near(sizes)) is not None], [*islice(others, most)]


def _spelt(sizes: Mapping[str, int]) -> str:
    return "".join(f"{name}{length}" for name, length in sizes.items())


def _group(one: Mapping[str, Any]) -> str:
    return "not contiguous" if one["gap"] else str(one["group"])


def _to_stderr(data: bytes) -> None:
    sys.stderr.write(printable(data.decode(errors="replace")))
