"""Diagnostics of attention's backward pass: its mistakes recomputed as a whole, and the laws that it keeps."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from bitgate.model.diagnostics import Diagnostics
from bitgate.model.finding import Finding, Rule
from bitgate.model.law import Axis, Data, KernelFunction, Law, Pair, cut, on_exact, only, turned
from bitgate.model.sized import SizedProblem
from bitgate.ops.attention.attention import KeyMask
from bitgate.ops.attention.backward_mistakes import KnownGradients, mistakes
from bitgate.ops.attention.fills import ONE
from bitgate.ops.attention.laws import has_data, resized
from bitgate.verify.diagnose.row_mistakes import explained
from bitgate.verify.diagnose.scene import Scene

MOST_WORK = 1 << 24
"""Products of a query and a key, times the head size, of problems that are recomputed."""


def mistaken(scene: Scene[SizedProblem]) -> Finding | None:
    """Find the defect that gives every wrong cell of some rows."""
    sizes = scene.problem.sizes
    work = sizes.b * sizes.h * sizes.s * sizes.t * sizes.d
    if not scene.inputs or scene.channels is not None or work > MOST_WORK:
        return None
    known = KnownGradients(scene)
    return explained(known, mistakes(known))


_ALL = dict.fromkeys(("q", "k", "v", "do", "o", "lse", "dq", "dk", "dv"), 0)
BATCHES = Axis("b", "batches", {**_ALL, "lengths": 0}, resized("b"))
HEADS = Axis("h", "heads", dict.fromkeys(_ALL, 1), resized("h"))


def _is_full(problem: SizedProblem) -> bool:
    return has_data(problem) and problem.sizes.mask is KeyMask.FULL


def _is_unmasked(problem: SizedProblem) -> bool:
    return _is_full(problem) and not problem.sizes.padded


def _is_anew(problem: SizedProblem) -> bool:
    return _is_full(problem) and not problem.sizes.saved


def _always(problem: SizedProblem, kernel: KernelFunction) -> bool:
    return True


def _reversed(data: Data, *roles: str) -> Data:
    return {role: np.flip(cells, 2) if role in roles else cells for role, cells in data.items()}


def _keys(problem: SizedProblem, kernel: KernelFunction, data: Data) -> Iterator[Pair]:
    """Yield dv of keys in reverse order: it is exact, or summed over queries in the same order."""
    turned_back = np.flip(kernel(problem, _reversed(data, "k", "v"), "dv"), 2)
    yield "dv of keys in reverse order", kernel(problem, data, "dv"), turned_back


def _queries(problem: SizedProblem, kernel: KernelFunction, data: Data) -> Iterator[Pair]:
    yield (
        "dv of queries in reverse order",
        kernel(problem, data, "dv"),
        kernel(problem, _reversed(data, "q", "do"), "dv"),
    )


def _shifted(problem: SizedProblem, kernel: KernelFunction, data: Data) -> Iterator[Pair]:
    """Yield dv of keys that all have one more in their first column: each query's logits move by one number."""
    more = np.zeros(problem.sizes.d)
    more[0] = ONE
    moved = kernel(problem, {**data, "k": data["k"] + more}, "dv")
    yield "dv of shifted keys", kernel(problem, data, "dv"), moved


def _scaled(problem: SizedProblem, kernel: KernelFunction, data: Data) -> Iterator[Pair]:
    for role in problem.outputs:
        whole = kernel(problem, data, role)
        for scale in (-1, 2):
            yield (
                f"{role} of {scale} times do",
                kernel(problem, {**data, "do": scale * data["do"]}, role),
                scale * whole,
            )


class BackwardDiagnostics(Diagnostics):
    """The explanations of the backward pass's results."""

    rules: tuple[Rule, ...] = (mistaken,)
    laws: tuple[Law, ...] = (
        only(on_exact(turned(BATCHES)), has_data),
        only(on_exact(cut(BATCHES)), has_data),
        only(on_exact(turned(HEADS)), has_data),
        only(on_exact(Law("turned_t", "keys may be put in another order", _always, _keys)), _is_unmasked),
        only(on_exact(Law("turned_s", "queries may be put in another order", _always, _queries)), _is_anew),
        only(on_exact(Law("shift", "logits of a query may all be larger by a number", _always, _shifted)), _is_anew),
        only(on_exact(Law("scale_do", "do times a number gives gradients times it", _always, _scaled)), has_data),
    )

    def derived(self, problem: SizedProblem) -> tuple[str, ...]:
        sizes = problem.sizes
        return (f"{sizes.h // sizes.kv} of {sizes.h} heads of queries add to each head of dk and dv",)
