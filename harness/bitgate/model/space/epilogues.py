"""Alpha, beta and forms of D: how solved tiers and fuzzing draw them, their classes, and what is plainer.

Rows of a batch do not hold them: a draw adds them to its problems.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterator
from dataclasses import fields, replace
from typing import Any, TypeVar

import numpy as np

from bitgate.model.contraction import Contraction
from bitgate.model.d_form import PLAIN, DForm
from bitgate.model.dtype import DTYPES
from bitgate.model.elementwise import factor_word
from bitgate.model.space.neighbour import Nearby

Same = TypeVar("Same", bound=Contraction)

FACTORS = (0.0, 1.0, -1.0, 0.5, 1.2, 0.1)
"""Values of alpha and beta next to those of each operation; f32 does not hold the last two."""

D_TYPES = ("f32", "f16", "bf16")
SHARE = 0.5
"""Share of the problems with a factor, or with a D, that get others than the plain ones."""


def with_epilogue(problem: Any) -> Any:
    """Return the problem, or for every other one a form of it with other factors and another D, where it has any.

    The choice depends on the problem alone, so that no other draw depends on it.
    """
    if not problem.op.takes and not problem.op.num_d:
        return problem
    rng = np.random.default_rng(zlib.crc32(problem.operation.spell(problem).encode()) ^ 0xD)
    if rng.random() >= SHARE:
        return problem
    factors = {name: float(rng.choice(FACTORS)) for name in problem.op.takes if rng.random() < 0.8}
    op = problem.op.with_factors(factors)
    if op.alpha == op.d_factor == 0:  # every result would be zero
        op = problem.op
    return _with_form(replace(problem, op=op), rng)


def _with_form(problem: Same, rng: np.random.Generator) -> Same:
    """Return the problem with each part of a form of D that it may have, or not."""
    if not problem.op.num_d or problem.op.in_place:
        return problem
    letters = problem.result_letters
    chosen = rng.permutation(len(letters))[: int(rng.choice((1, 1, 2, len(letters) - 1, len(letters))))]
    form = DForm(
        layout=str(rng.choice(list(problem.d_layouts))),
        dtype=DTYPES[str(rng.choice(D_TYPES))],
        broadcast="".join(letters[at] for at in chosen),
    )
    parts = [part.name for part in fields(form) if rng.random() < 0.5]
    return problem.with_form(replace(PLAIN, **{name: getattr(form, name) for name in parts}))


def classes(problem: Contraction) -> dict[str, str]:
    """Return the classes of the factors and of D's form, for a solved tier."""
    op, form = problem.op, problem.d_form
    found = {name: factor_word(getattr(op, name)) if name in op.takes else "none" for name in ("alpha", "beta")}
    none = "own" if op.num_d else "no d0"
    axes = len(form.broadcast)
    known = "all" if axes == len(problem.result_letters) else form.broadcast if axes == 1 else "several"
    return found | {
        "d_layout": str(list(problem.d_layouts).index(form.layout)) if form.layout else none,
        "d_dtype": str(form.dtype or none),
        "d_axes": known if axes else none,
    }


def plainer(problem: Same) -> Iterator[Same]:
    """Yield the problem with plain factors, and with a form of D that is one step plainer."""
    for name in problem.op.takes:
        own = getattr(problem.op.plain, name)
        if getattr(problem.op, name) != own:
            yield replace(problem, op=problem.op.with_factors({name: own}))
    for form in problem.d_form.plainer:
        yield problem.changed(d_form=form)


def oddness(problem: Contraction) -> int:
    """Return how many factors, and parts of D's form, are not the plain ones."""
    op, plain = problem.op, problem.op.plain
    return len([name for name in op.takes if getattr(op, name) != getattr(plain, name)]) + len(problem.d_form.words)


def nearby(problem: Contraction) -> Iterator[Nearby]:
    """Yield problems with another factor, or a plainer form of D."""
    for name in problem.op.takes:
        own = getattr(problem.op, name)
        for value in dict.fromkeys((getattr(problem.op.plain, name), *FACTORS)):
            if value != own:
                op = problem.op.with_factors({name: value})
                yield Nearby(name, f"{own:g}", f"{value:g}", 1.5, replace(problem, op=op))
    for form in problem.d_form.plainer:
        old, new = (" ".join(one.words) or "as the result" for one in (problem.d_form, form))
        yield Nearby("D", old, new, 1.5, problem.changed(d_form=form))


def held_by(problem: Same, other: Same) -> Same:
    """Return the other problem with this one's factors and form of D, as far as it has the same operation."""
    if other.op.name != problem.op.name:
        return other
    return replace(other, op=problem.op).with_form(problem.d_form)
