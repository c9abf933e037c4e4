"""A task as an operation: its problems, data, reference and bounds. The task's own code runs for the last two alone."""

from __future__ import annotations

import string
from collections.abc import Iterator, Mapping
from dataclasses import asdict, astuple, make_dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bitgate.model import DTYPES, Accumulation, Fill
from bitgate.model.form import Array
from bitgate.model.sized import Sized, SizedProblem, StatedTensor
from bitgate.tools.judge.conventions import TaskFile, tensor_of, to_numpy
from bitgate.tools.judge.data import cells_of
from bitgate.tools.judge.sums import terms_of
from bitgate.tools.judge.survey import TYPES

Floats = NDArray[np.float64]

DRAWS, FEW_DRAWS = 8, 2
"""Evaluations of the reference near the inputs, for a bound; few where each takes long."""
FACTOR = 8.0
"""The bound's multiple of the f32 reference's own error."""
SAMPLES = 6
"""Elements of each input whose change shows how many terms a cell has."""
RULE = (
    "each cell may be off by 8 e + (4 sqrt(n) + 8) u (sqrt(k) m + |y|), and its last rounding: y in f64; e, the largest"
    " error of the reference in f32 over 8 draws next to the inputs; n, the terms of a cell, measured; k, those without"
    " zeros that add nothing, of which n has at most 1024; m, the root mean square of what all terms add; u, half a"
    " unit of f32. Where the reference in the task's own type is further off, its errors are admitted 4 times"
)


class TaskOperation(Sized):
    """The operation of a surveyed task (survey.py): the facts as data, and the file for its reference."""

    def __init__(self, name: str, file: str, arguments: Mapping[str, Any], facts: Mapping[str, Any]) -> None:
        self.name, self._file, self._arguments, self._facts = name, Path(file), arguments, facts
        self.sizes = make_dataclass("Sizes", [(one, int) for one in facts["sizes"]], frozen=True)
        self._problems = {self._key_of(one["sizes"], one["dtype"]): one for one in facts["problems"]}
        self._by_sizes = {tuple(one["sizes"].values()): one for one in facts["problems"]}
        self.fills = tuple(
            Fill(fill, REASONS[fill], self._maker(fill), exact=fill == "exact")
            for fill in REASONS
            if any(fill in one["fills"] for one in facts["problems"])
        )

    @cached_property
    def _task(self) -> TaskFile:
        return TaskFile(self._file, self._arguments)

    def check(self, sizes: Any) -> str | None:
        return None if astuple(sizes) in self._by_sizes else "these sizes were not surveyed: run bitgate judge again"

    def tensors(self, sizes: Any) -> Iterator[StatedTensor]:
        for one in self._facts["inputs"]:
            if "role" in one:
                lengths = [getattr(sizes, axis) if isinstance(axis, str) else axis for axis in one["axes"]]
                yield StatedTensor(one["role"], _axes(lengths), dtype=one["type"], order=one.get("order", ""))
        for one, lengths in zip(self._facts["outputs"], self._by_sizes[astuple(sizes)]["outputs"], strict=True):
            yield StatedTensor(one["role"], _axes(lengths), is_written=True, dtype=one["type"])

    def reference(self, problem: SizedProblem, inputs: Mapping[str, Array]) -> Mapping[str, Array]:
        kinds = {str(one.dtype) for one in inputs.values() if one.dtype.kind == "f"}
        return self._run(problem, inputs, "float32" if kinds == {"float32"} else "float64")

    def bound(
        self, problem: SizedProblem, inputs: Mapping[str, Array], accumulation: Accumulation
    ) -> Mapping[str, Floats] | None:
        reals = [one["role"] for one in self._facts["outputs"] if "float" in one["given"]]
        if not reals:
            return {}  # integers are compared by bits
        own = next(name for name, short in TYPES.items() if short == problem.dtypes.of(0).name)
        narrow = "float64" if own == "float64" else "float32"
        u = 2.0 ** -(53 if own == "float64" else 24)
        rng = np.random.default_rng(len(problem.tensors))
        with np.errstate(all="ignore"):
            run = self._run(problem, inputs, "float64")
            base = {role: run[role] for role in reals}
            errors = {role: np.zeros(one.shape) for role, one in base.items()}
            squares = {role: np.zeros(one.shape) for role, one in base.items()}
            is_quick = bool(self._facts_of(problem)["quick"])
            draws = DRAWS if is_quick else FEW_DRAWS
            for _ in range(draws):
                moved = {role: _moved(one, rng, narrow) for role, one in inputs.items()}
                right, rounded = (self._run(problem, moved, kind) for kind in ("float64", narrow))
                for role in base:
                    errors[role] = np.fmax(errors[role], np.abs(rounded[role] - right[role]))
                    squares[role] += ((right[role] - base[role]) / DELTA) ** 2 / draws
            slack = {}
            for role, y in base.items():
                terms, added = self._terms(problem, inputs, base, role, rng, SAMPLES if is_quick else 1)
                if not is_quick:
                    errors[role] = np.fmax(errors[role], 4 * np.sqrt(np.mean(errors[role] ** 2)))
                counts = np.abs(y) > UNDERFLOW * np.max(np.abs(y), initial=0.0)  # cells next to zero underflow in f32
                usual = np.median(errors[role][counts] / np.abs(y[counts])) if np.any(counts) else 0.0
                error = np.fmax(errors[role], usual * np.abs(y))
                each = np.sqrt(added * squares[role]) + np.abs(y)
                slack[role] = FACTOR * error + (4 * np.sqrt(terms) + 8) * u * each
            slack = self._with_own(problem, inputs, own, base, slack)
            return {role: np.nan_to_num(one, nan=ANYTHING, posinf=ANYTHING) for role, one in slack.items()}

    # ------------------------------------------------------------------------------------------------------- its parts

    def _key_of(self, sizes: Mapping[str, int], dtype: str) -> tuple[Any, ...]:
        return (dtype, *(sizes[name] for name in self._facts["sizes"]))

    def _facts_of(self, problem: SizedProblem) -> Mapping[str, Any]:
        found: Mapping[str, Any] = self._problems[self._key_of(asdict(problem.sizes), problem.dtypes.of(0).name)]
        return found

    def _maker(self, fill: str) -> Any:
        def make(problem: SizedProblem, seed: int) -> Mapping[str, Array]:
            exact = self._facts_of(problem)["exact"]
            found: dict[str, Array] = {}
            for one in self._facts["inputs"]:
                if "role" in one:
                    found[one["role"]] = cells_of(one, problem.tensors[one["role"]].lengths, fill, seed, exact)
            return found

        return make

    def _run(self, problem: SizedProblem, inputs: Mapping[str, Array], kind: str) -> dict[str, Array]:
        """Return the reference's outputs by role, in f64 or integers, computed in the type ``kind``."""
        lengths = self._by_sizes[astuple(problem.sizes)]["outputs"]
        torch, given = bool(self._facts["torch"]), list[Any]()
        for one in self._facts["inputs"]:
            if "role" in one:
                of = kind if "float" in one["given"] else one["given"]
                given.append(tensor_of(np.asarray(inputs[one["role"]]), of, torch))
            else:
                buffer = "buffer" in one
                given.append(tensor_of(np.zeros(lengths[one["buffer"]]), kind, torch) if buffer else one["constant"])
        outputs = self._task.run(given, kind)
        return {one["role"]: to_numpy(cells) for one, cells in zip(self._facts["outputs"], outputs, strict=True)}

    def _terms(
        self,
        problem: SizedProblem,
        inputs: Mapping[str, Array],
        base: Mapping[str, Array],
        role: str,
        rng: Any,
        samples: int,
    ) -> tuple[float, float]:
        """Return how many input elements a cell hangs on, and how many without zeros that add nothing.

        Measured: how many cells change with one element, on average.
        """
        terms, added = 0.0, 0.0
        reals = {one["role"]: one["axes"] for one in self._facts["inputs"] if "float" in one.get("given", "")}
        placed = {place: inputs[role] for place, role in enumerate(reals)}
        is_term = terms_of(self._facts["summed"], dict(enumerate(reals.values())), placed)
        for place, name in enumerate(reals):
            cells, own = inputs[name], np.flatnonzero(is_term[place])
            if not own.size:
                continue
            changed = 0
            for at in rng.choice(own, samples):
                one = np.array(cells)
                one.flat[at] += 1e-3 * (np.abs(one.flat[at]) or 1.0)
                changed += np.count_nonzero(self._run(problem, {**inputs, name: one}, "float64")[role] != base[role])
            share = changed / samples / max(1, base[role].size)
            terms, added = terms + cells.size * share, added + own.size * share
        # A running mean may round at zeros, too.
        return max(1.0, added, min(terms, MOST_ZEROS)), max(1.0, added)

    def _with_own(
        self,
        problem: SizedProblem,
        inputs: Mapping[str, Array],
        own: str,
        base: Mapping[str, Array],
        slack: dict[str, Floats],
    ) -> dict[str, Floats]:
        """Return the bounds, with four times the errors that the task's own type makes, if that is further off."""
        if own not in ("float16", "bfloat16"):
            return slack
        run = self._run(problem, inputs, own)
        half = 2.0 ** -DTYPES[TYPES[own]].mantissa
        for role in slack:
            error = np.nan_to_num(np.abs(run[role] - base[role]), nan=0.0, posinf=0.0)
            if (error > slack[role] + half * (np.abs(base[role]) + slack[role]) + 1e-7).any():
                slack[role] = slack[role] + 4 * np.fmax(error, np.mean(error))
        return slack


MOST_ZEROS = 1024.0
"""Zeros that add nothing which are counted as terms."""
ANYTHING = 1e300
"""The bound of a cell for which the reference itself gives no number in f32."""
UNDERFLOW = 2.0**-20
"""The share of the largest cell below which a cell says nothing of the relative error of the others."""
DELTA = 2.0**-20
"""Relative size of the moves of inputs."""
REASONS = {
    "exact": "the reference is affine in each operand, and an f32 holds every sum of these integers in any order",
    "decimal": "reals as spread as the task's own, each cell within its bound",
    "signed": "the same with both signs, where the task draws none below 0: a kernel for positive numbers alone shows",
    "small": "the same, 512 times smaller: an epsilon in the wrong place shows",
    "sparse": "integers, most of them zero: a term that a long sum leaves out shows, and a row of zeros",
    "whole": "small integers, where a row of zeros has no result: a kernel that computes otherwise on integers shows",
    "few": "reals in some rows and columns of a sum, all others zero: terms of too few bits show, whose errors would"
    " average out in a longer one",
    "large": "the same, 64 or 256 times larger: a maximum that is not subtracted shows",
}


def _moved(cells: Array, rng: Any, kind: str) -> Array:
    if cells.dtype.kind != "f":
        return cells
    moved = cells * (1 + DELTA * rng.choice((-1.0, 1.0), cells.shape))
    return np.asarray(moved.astype(kind), np.float64)


def _axes(lengths: list[int]) -> dict[str, int]:
    return dict(zip(string.ascii_lowercase, lengths, strict=False))
