"""The survey of a task, in a child: its tensors and sizes, the problems drawn around its own, the data for each."""

from __future__ import annotations

import json
import string
from collections.abc import Mapping, Sequence
from contextlib import redirect_stdout
from itertools import chain
from pathlib import Path
from sys import stderr
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bitgate.core.errors import UsageError
from bitgate.core.untrusted import shown
from bitgate.model import DTYPES
from bitgate.tools.judge.conventions import Task, is_tensor, tensor_of, to_numpy, type_of
from bitgate.tools.judge.drawing import Sizes, around, shrunk
from bitgate.worker import serving
from bitgate.worker.channel import Channel
from bitgate.worker.outside import give_up_reaching
from bitgate.worker.sandbox import enter
from bitgate.worker.serving import Message

ENTRY = f"{__name__}:serve"
TYPES = {"float64": "f64", "float32": "f32", "float16": "f16", "bfloat16": "bf16", "int8": "i8", "int32": "i32"}
WIDER = {"int64": "i32", "int16": "i32", "uint8": "i32", "bool": "i8"}
"""Types that bitgate's tensors have not, and those that carry their numbers."""
OWN_ELEMENTS, BASE_ELEMENTS = 1 << 20, 1 << 15
"""The product of sizes up to which the task's own are judged, and around which others are drawn."""
EXACT_SUM = 1 << 23
Cells = NDArray[Any]


class SurveyTask(Message):
    path: str
    arguments: dict[str, Any]
    problems: int
    seed: int
    own: bool


def serve(channel: Channel) -> None:
    give_up_reaching()
    enter()

    def survey(asked: SurveyTask) -> dict[str, Any]:
        with redirect_stdout(stderr):
            try:
                found = Survey(Task(Path(asked.path), asked.arguments)).document(asked.problems, asked.seed, asked.own)
            except UsageError:
                raise
            except Exception as error:
                raise UsageError(f"{asked.path}: {type(error).__name__}: {shown(error)}") from None
            json.dumps(found)
            return found

    serving.serve(channel, {SurveyTask: survey})


class Survey:
    """What a task's inputs are, found by running its reference."""

    def __init__(self, task: Task) -> None:
        self.task = task
        drawn = task.generate()[0]
        self.own = [to_numpy(one) if is_tensor(one) else one for one in drawn]
        self.kinds = [type_of(one) if is_tensor(one) else "" for one in drawn]
        self.buffers = self._written(drawn)
        self.places = [place for place, kind in enumerate(self.kinds) if kind and place not in self.buffers]
        outputs = task.run(drawn, self._float_kind())
        self.outputs = [type_of(one) for one in outputs if is_tensor(one)]
        if len(self.outputs) != len(outputs) or not outputs:
            raise UsageError(f"{task.file}: its reference gives {shown(outputs)}: tensors alone can be judged")
        for kind in chain((self.kinds[place] for place in self.places), self.outputs):
            if kind not in TYPES and kind not in WIDER:
                raise UsageError(f"{task.file}: tensors of {kind} are not judged: {', '.join((*TYPES, *WIDER))} are")
        if not self._is_same(self._run(self.own, "float64"), self._run(self.own, "float64")):
            raise UsageError(f"{task.file}: its reference gives another result at each call: nothing can be judged by it")
        self.axes: dict[int, list[Any]] = {}
        self.axes, self.sizes = self._sizes()

    def document(self, problems: int, seed: int, own: bool) -> dict[str, Any]:
        """Return all that others need to know of the task, with at most this many problems."""
        chosen: list[dict[str, Any]] = []
        dropped = 0
        base = self.sizes
        if np.prod([float(n) for n in base.values()]) <= OWN_ELEMENTS:
            chosen += self._problem(base, "own", seed)
        for sizes in shrunk(self.sizes, BASE_ELEMENTS):
            base = sizes if self._problem(sizes, "drawn", seed) else base
        if base is not self.sizes or own is False:
            chosen += self._problem(base, "drawn" if base is not self.sizes else "not contiguous", seed)
        tried = 0
        for sizes in () if own else around(base, seed):
            if len(chosen) >= problems or tried > 8 * problems:
                break
            tried += 1
            found = self._problem(sizes, "drawn", seed + tried)
            dropped += not found
            chosen += found
        if not chosen:
            raise UsageError(f"{self.task.file}: its reference takes none of the sizes that were drawn around its own")
        for place, one in enumerate(chosen):
            one["gap"] = one["group"] == "not contiguous" or (not own and place % 4 == 3)
        return {
            "torch": self.task.torch,
            "packing": self.task.packing,
            "init": self._plain(self.task.init),
            "dtype": TYPES[self._float_kind()],
            "inputs": [self._input(place) for place in range(len(self.own))],
            "outputs": [{"role": f"y{n}", "type": self._stated(kind), "given": kind} for n, kind in enumerate(self.outputs)],
            "sizes": list(self.sizes),
            "problems": chosen,
            "dropped": dropped,
        }

    # ------------------------------------------------------------------------------------------------ its tensors

    def _float_kind(self) -> str:
        floats = [kind for kind in self.kinds if kind in TYPES and DTYPES[TYPES[kind]].is_float]
        return floats[0] if floats else "float32"

    def _stated(self, kind: str) -> str:
        """Return the type that is always the same; empty for the one that case ids name."""
        return "" if kind == self._float_kind() else TYPES.get(kind) or WIDER[kind]

    def _input(self, place: int) -> dict[str, Any]:
        kind = self.kinds[place]
        if not kind:
            return {"constant": self._plain(self.own[place])}
        if place in self.buffers:
            return {"buffer": self.buffers[place]}
        cells = self.own[place].astype(np.float64)
        finite = cells[np.isfinite(cells)] if cells.size else np.zeros(1)
        spread = {"low": float(finite.min()), "high": float(finite.max()), "spread": float(finite.std()) or 1.0}
        return {"role": f"x{place}", "type": self._stated(kind), "given": kind, "axes": self.axes.get(place, []), **spread}

    def _plain(self, value: Any) -> Any:
        try:
            return json.loads(json.dumps(value))
        except (TypeError, ValueError):
            raise UsageError(f"{self.task.file}: the input {shown(value)} is neither a tensor nor plain data") from None

    def _written(self, drawn: Sequence[Any]) -> dict[int, int]:
        """Return the inputs that the reference writes: buffers for an output, by its number."""
        copies = [self._given(one, kind, kind) for one, kind in zip(self.own, self.kinds, strict=True)]
        before = [to_numpy(one) if kind else None for one, kind in zip(copies, self.kinds, strict=True)]
        outputs = self.task.run(copies, self._float_kind())
        found = {}
        for place, (old, new) in enumerate(zip(before, copies, strict=True)):
            if old is None or np.array_equal(old, to_numpy(new), equal_nan=old.dtype.kind == "f"):
                continue
            same = [n for n, one in enumerate(outputs) if is_tensor(one) and to_numpy(one).shape == old.shape]
            if not same:
                raise UsageError(f"{self.task.file}: its reference changes input {place}, which is no output")
            found[place] = same[0]
        return found

    def _sizes(self) -> tuple[dict[int, list[Any]], Sizes]:
        """Return each tensor's axes as names of sizes, or as lengths that stay, and the sizes.

        Axes of one length that cannot change alone share a size: the reference says so.
        """
        axes: dict[int, list[Any]] = {place: list(self.own[place].shape) for place in self.places}
        names = iter(string.ascii_lowercase)
        sizes: Sizes = {}
        spots = [(place, axis) for place in self.places for axis, n in enumerate(self.own[place].shape) if n > 1]
        alone = [spot for spot in spots if self._takes({spot: self.own[spot[0]].shape[spot[1]] + 1})]
        groups = [[spot] for spot in alone]
        for length in sorted({self.own[place].shape[axis] for place, axis in spots}):
            rest = [one for one in spots if one not in alone and self.own[one[0]].shape[one[1]] == length]
            groups += self._tied(rest, length)
        for group in groups:
            place, axis = group[0]
            name = next(names, "")
            if not name:
                raise UsageError(f"{self.task.file}: its inputs have more than 26 lengths")
            sizes[name] = self.own[place].shape[axis]
            for place, axis in group:
                axes[place][axis] = name
        if not sizes:
            sizes = {"n": 1}
        return axes, sizes

    def _tied(self, spots: list[tuple[int, int]], length: int) -> list[list[tuple[int, int]]]:
        """Split axes of one length into the pairs that can change together, and the rest."""
        found, rest = [], list(spots)
        for first in spots:
            for second in spots:
                if first < second and first in rest and second in rest and len(rest) > 2:
                    if self._takes({first: length + 1, second: length + 1}):
                        found.append([first, second])
                        rest = [one for one in rest if one not in (first, second)]
        return found + ([rest] if rest else [])

    def _takes(self, changed: Mapping[tuple[int, int], int]) -> bool:
        shapes = {place: list(self.own[place].shape) for place in self.places}
        for (place, axis), length in changed.items():
            shapes[place][axis] = length
        return self._shapes_of(shapes) is not None

    # --------------------------------------------------------------------------------------------- problems and data

    def _problem(self, sizes: Sizes, group: str, seed: int) -> list[dict[str, Any]]:
        """Return the problem of these sizes in a list; an empty one if the reference does not take it."""
        shapes = {p: [sizes.get(one, one) if isinstance(one, str) else one for one in self.axes[p]] for p in self.places}
        if min(sizes.values()) < 1 or (lengths := self._shapes_of(shapes)) is None or 0 in chain(*lengths):
            return []
        described = [self._input(place) for place in range(len(self.own))]
        drawn = {place: described[place] for place in self.places}
        exact = self._exact(shapes, drawn, seed)
        fills = ["exact"] if exact else []
        for fill in ("decimal", "small", "large"):
            data = {p: cells_of(one, tuple(shapes[p]), fill, seed) for p, one in drawn.items()}
            outputs = None if any(one is None for one in data.values()) else self._try(data)
            largest = float(np.finfo(np.float16).max) if self._float_kind() == "float16" else 1e38
            if outputs and all(np.isfinite(one).all() and (np.abs(one) <= largest).all() for one in outputs):
                fills.append(fill)
        return [{"sizes": sizes, "outputs": lengths, "fills": fills, "exact": exact, "group": group}] if fills else []

    def _shapes_of(self, shapes: Mapping[int, list[int]]) -> list[list[int]] | None:
        inputs = {place: cells_of(self._input(place), tuple(shape), "decimal", 0) for place, shape in shapes.items()}
        outputs = self._try(inputs)
        return None if outputs is None else [list(one.shape) for one in outputs]

    def _exact(self, shapes: Mapping[int, list[int]], drawn: Mapping[int, dict[str, Any]], seed: int) -> int:
        """Return the largest integer to fill with, where the reference is affine in each operand: each cell is then a
        sum of integers that an f32 holds in any order. 0 if there is none.

        By the cells' squares over several draws: integer terms add up to no more than sqrt(terms * sum of squares).
        """
        floats = [place for place in drawn if self.kinds[place] in TYPES and "float" in self.kinds[place]]
        if len(floats) != len(drawn) or any("float" not in kind for kind in self.outputs):
            return 0
        rng = np.random.default_rng(seed)

        def draw(most: int) -> dict[int, Cells]:
            return {p: rng.integers(-most, most + 1, tuple(shapes[p])).astype(np.float64) for p in drawn}

        for place in floats:
            first, second = draw(3), draw(3)
            other = {**first, place: second[place]}
            total, none = {**first, place: first[place] + second[place]}, {**first, place: 0.0 * first[place]}
            results = [self._try(one) for one in (first, other, total, none)]
            if any(one is None for one in results):
                return 0
            for a, b, c, d in zip(*(one or [] for one in results), strict=True):
                if not np.array_equal(a + b, c + d) or not np.array_equal(a, np.trunc(a)):
                    return 0
        terms = sum(int(np.prod(shape)) for shape in shapes.values())
        most_value = {"float16": 30000.0, "bfloat16": 1e30}.get(self._float_kind(), 1e30)
        for most in (16, 4, 1):
            results = [self._try(draw(most)) for _ in range(4)]
            every = np.concatenate([one.ravel() for result in results for one in result or []])
            if not every.size or not np.array_equal(every, np.trunc(every)):
                return 0
            if np.sqrt(terms * 8.0 * float(np.mean(every**2))) <= EXACT_SUM and 2 * np.abs(every).max() <= most_value:
                return most
        return 0

    def _run(self, cells: Sequence[Any], kind: str) -> list[Cells]:
        given = [self._given(one, own, kind) for one, own in zip(cells, self.kinds, strict=True)]
        return [to_numpy(one) for one in self.task.run(given, kind)]

    def _given(self, cells: Any, own: str, kind: str) -> Any:
        if not own:
            return cells
        return tensor_of(np.asarray(cells), kind if "float" in own else own, self.task.torch)

    def _try(self, inputs: Mapping[int, Any]) -> list[Cells] | None:
        """Return the reference's outputs in f64 of inputs by place; None if it does not take them."""
        cells = [inputs.get(place, own) for place, own in enumerate(self.own)]
        if self.buffers:
            try:  # a buffer has the shape of its output, which is known once the reference has run
                probe = self._run(cells, "float64")
                cells = [np.zeros(probe[self.buffers[p]].shape) if p in self.buffers else one for p, one in enumerate(cells)]
            except Exception:
                return None
        try:
            with np.errstate(all="ignore"):
                return self._run(cells, "float64")
        except Exception:
            return None

    @staticmethod
    def _is_same(one: Sequence[Cells], other: Sequence[Cells]) -> bool:
        return all(np.array_equal(a, b, equal_nan=a.dtype.kind == "f") for a, b in zip(one, other, strict=True))


SCALES = {"decimal": 1.0, "small": 2.0**-9, "large": 2.0**6}


def cells_of(drawn: Mapping[str, Any], shape: tuple[int, ...], fill: str, seed: int, exact: int = 0) -> Cells | None:
    """Return an input's data; None if the fill has none for it.

    Reals are as spread as the task's own, ``small`` and ``large`` ones scaled; where the task draws none below 0,
    neither does this, and none is scaled up. Integers lie between the task's own.
    """
    rng = np.random.default_rng([seed, *drawn["role"].encode(), *fill.encode()])
    if "float" not in drawn["given"]:
        return rng.integers(int(drawn["low"]), int(drawn["high"]) + 1, shape)
    if fill == "exact":
        return rng.integers(-exact, exact + 1, shape).astype(np.float64)
    if drawn["low"] >= 0:
        low, high = drawn["low"], drawn["high"] or 1.0
        return None if fill == "large" else rng.uniform(low * SCALES[fill], high * SCALES[fill], shape)
    return rng.standard_normal(shape) * drawn["spread"] * SCALES[fill]
