"""Diagnostics of attention's backward pass: its mistakes recomputed as a whole, and the laws that it keeps."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bitgate.model.diagnostics import Diagnostics
from bitgate.model.finding import Finding, Rule
from bitgate.model.law import Axis, Law, cut, on_exact, only, turned
from bitgate.model.sized import SizedProblem
from bitgate.ops.attention.attention import Admitted, Floats, KeyMask, admitted, logits
from bitgate.ops.attention.backward import Slopes
from bitgate.ops.attention.laws import has_data, resized
from bitgate.verify.diagnose.row_mistakes import KnownRows, RowMistake, explained
from bitgate.verify.diagnose.scene import Scene

MOST_WORK = 1 << 24
"""Products of a query and a key, times the head size, of problems that are recomputed."""


@dataclass(frozen=True)
class KnownGradients(KnownRows):
    """Some rows of a gradient."""

    @property
    def terms(self) -> int:
        return int(self.scene.problem.sizes.t + self.scene.problem.sizes.s)

    def by_row(self, array: NDArray[Any]) -> NDArray[Any]:
        return array.reshape(-1, array.shape[-1])

    def _slack(self, values: Floats) -> Floats:
        dtype = self.scene.dtype
        own = (0.0 if dtype.bytes > 2 else 2.0 ** (1 - dtype.mantissa)) + 8 * self.terms * 2.0**-24
        return np.asarray(super()._slack(values) + own * np.abs(values).max(initial=0.0))


def mistaken(scene: Scene[SizedProblem]) -> Finding | None:
    """Find the defect that gives every wrong cell of some rows."""
    sizes = scene.problem.sizes
    work = sizes.b * sizes.h * sizes.s * sizes.t * sizes.d
    if not scene.inputs or scene.channels is not None or work > MOST_WORK:
        return None
    known = KnownGradients(scene)
    return explained(known, _mistakes(known))


def _mistakes(known: KnownGradients) -> Iterator[RowMistake]:
    problem = known.scene.problem
    sizes = problem.sizes
    inputs = {role: np.asarray(cells, np.float64) for role, cells in known.scene.inputs.items()}
    x, lengths = logits(sizes, inputs), inputs.get("lengths")
    keys = admitted(sizes, lengths)

    def picked(outputs: Mapping[str, Floats]) -> dict[str, Floats]:
        own = outputs.get(known.scene.role)
        return {} if own is None else {known.scene.role: known.by_row(own)[known.rows]}

    def made(text: str, of: Admitted = keys, x: Floats = x, data: Mapping[str, Floats] = inputs) -> RowMistake:
        return RowMistake(text, picked(Slopes.of(sizes, data, x, of.mask(sizes.t)).gradients(sizes, data)))

    later = Admitted(keys.first, np.minimum(keys.end + 1, sizes.t))
    yield made("a key more than each query admits is let in", later)
    yield made("the last admitted key of each query is left out", Admitted(keys.first, keys.end - 1))
    if sizes.mask is not KeyMask.FULL:
        full = admitted(replace(sizes, mask=KeyMask.FULL, w=1), lengths)
        yield made("the mask is left out: later keys are let in", full)
    if sizes.padded:
        yield made("the padding is left out: padded keys are let in", admitted(sizes))
    right = Slopes.of(sizes, inputs, x, keys.mask(sizes.t))
    gradients = right.gradients(sizes, inputs)
    root = np.sqrt(sizes.d)
    yield RowMistake("the scale of the logits is left out", picked({r: gradients[r] * root for r in ("dq", "dk")}))
    yield RowMistake("the scale of the logits is taken twice", picked({r: gradients[r] / root for r in ("dq", "dk")}))
    dp = right.p * np.einsum("bhsd,bhtd->bhst", inputs["do"], np.repeat(inputs["v"], sizes.h // sizes.kv, axis=1))
    text = "the sum of p dp is not subtracted from the slopes"
    yield RowMistake(text, picked(Slopes(right.p, dp).gradients(sizes, inputs)))
    for words, head in (("first", 0), ("last", sizes.h // sizes.kv - 1)):
        shared = (np.arange(sizes.h) % (sizes.h // sizes.kv) == head)[None, :, None, None]
        alone = Slopes(right.p * shared, right.ds * shared).gradients(sizes, inputs)
        text = f"only the {words} of the query heads that share keys is summed"
        yield RowMistake(text, picked({role: alone[role] for role in ("dk", "dv")}), "wrong_group")
    yield made("the logits are scaled by ln 2: powers of 2 without log2 e", x=x * np.log(2))
    yield made("the logits are scaled by 1.1", x=x * 1.1)


_ALL = dict.fromkeys(("q", "k", "v", "do", "o", "lse", "dq", "dk", "dv"), 0)
BATCHES = Axis("b", "batches", {**_ALL, "lengths": 0}, resized("b"))
HEADS = Axis("h", "heads", dict.fromkeys(_ALL, 1), resized("h"))


class BackwardDiagnostics(Diagnostics):
    """The explanations of the backward pass's results."""

    rules: tuple[Rule, ...] = (mistaken,)
    laws: tuple[Law, ...] = (
        only(on_exact(turned(BATCHES)), has_data),
        only(on_exact(cut(BATCHES)), has_data),
        only(on_exact(turned(HEADS)), has_data),
    )

    def derived(self, problem: SizedProblem) -> tuple[str, ...]:
        sizes = problem.sizes
        return (f"{sizes.h // sizes.kv} of {sizes.h} heads of queries add to each head of dk and dv",)
