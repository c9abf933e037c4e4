"""A place that elements of operands make: cells are wrong whose sums have a factor of some kind, and no others."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import chain
from math import prod

import numpy as np
from numpy.typing import NDArray

from bitgate.model import Dtype, Problem
from bitgate.model.finding import Finding, Role
from bitgate.numerics.bits import Array
from bitgate.numerics.rounding import largest, smallest_normal
from bitgate.verify.diagnose.places import format_list
from bitgate.verify.diagnose.scene import Scene

MOST_PRODUCTS = 4_000_000
FEWEST = 4
"""The least number of wrong cells, and of right ones, between which a kind of factor can tell."""
MOST_SIZES = 24
"""Sizes at each end of a type's range that are tried as limits."""
EDGE = 8
"""The factor within which a size is at the end of its type's range."""

SPECIAL = ("NaN", "an infinity", "-0", "a subnormal number")
"""Kinds of elements that are rare: of others, cells that share a place may all have one by chance."""

Mask = NDArray[np.bool_]


def telling_factors(scene: Scene[Problem]) -> Finding | None:
    """Find a kind of element, of one operand or of all, that all wrong cells have as a factor and no right one has.

    A right cell that is NaN anyway may have one, too.
    """
    numerics = scene.problem.operation.numerics
    form = numerics.form(scene.problem)
    if form is None or not scene.operands or scene.channels is not None or scene.role != scene.problem.result:
        return None
    if numerics.terms(scene.problem) * scene.result.size > MOST_PRODUCTS:
        return None
    open_cells = ~scene.wrong & ~np.isnan(scene.reference.astype(np.float64))
    if scene.count < FEWEST or np.count_nonzero(open_cells) < FEWEST:
        return None
    names = scene.problem.operation.diagnostics.names(scene.problem)
    groups = [(role,) for role in form.operands] + ([tuple(form.operands)] if len(form.operands) > 1 else [])
    kinds = {role: dict(_kinds(np.asarray(scene.operands[role]), _type(scene, role))) for role in form.operands}
    is_box = _is_box(scene)
    for words in dict.fromkeys(chain.from_iterable(kinds.values())):
        for group in groups:
            masks = {role: kinds[role][words] for role in group if words in kinds[role]}
            if len(masks) < len(group):
                continue
            has = np.zeros(scene.result.shape, np.bool_)
            for role, mask in masks.items():
                arrays = {other: np.ones(scene.problem.tensors[other].lengths, np.int64) for other in form.operands}
                has |= form.apply({**arrays, role: mask.astype(np.int64)}) > 0
            if words not in SPECIAL and is_box:
                continue
            if has[scene.wrong].all() and not has[open_cells].any():
                whose = format_list([names[role] for role in group], "or")
                text = f"only where a factor of {whose} is {words}, and everywhere there"
                return Finding("other", Role.PLACE, 0.94, text, {"factors": words, "of": list(group)})
    return None


def _is_box(scene: Scene[Problem]) -> bool:
    """Return whether the wrong cells are all those of some coordinates of each axis: these say where they are."""
    hit = [int(scene.wrong_along(axis).sum()) for axis in range(scene.wrong.ndim)]
    return bool(scene.count == prod(hit))


def _type(scene: Scene[Problem], role: str) -> Dtype:
    return scene.problem.tensors[role].dtype


def _kinds(cells: Array, dtype: Dtype) -> Iterator[tuple[str, Mask]]:
    """Yield kinds of elements that an operand has, but not everywhere: in words, and where they are."""
    with np.errstate(all="ignore"):
        values = cells.astype(np.float64)
        size = np.abs(values)
        tests: dict[str, Callable[[], Mask]] = {
            "NaN": lambda: np.isnan(values),
            "an infinity": lambda: np.isinf(values),
            "-0": lambda: (values == 0) & np.signbit(values),
            "negative": lambda: values < 0,
        }
        if dtype.is_float:
            tests["a subnormal number"] = lambda: (size > 0) & (size < smallest_normal(dtype))
        for words, test in tests.items():
            mask = np.asarray(test())
            if mask.any() and not mask.all():
                yield words, mask
        if not dtype.is_float:
            return
        # Any other size would be a limit between two cells by chance.
        sizes = np.unique(size[np.isfinite(size) & (size > 0)])
        for limit in sizes[sizes >= largest(dtype) / EDGE][::-1][:MOST_SIZES]:
            yield f"{limit:g} or more in size", np.isfinite(size) & (size >= limit)
        for limit in sizes[sizes <= smallest_normal(dtype) * EDGE][:MOST_SIZES]:
            yield f"{limit:g} or less in size, and not 0", (size > 0) & (size <= limit)
