"""Classes of single lengths, axes and tensors, by factor: what a solved tier combines next to the operation's factors.

A defect often needs one axis, one tensor or one coincidence of lengths, which factors over a whole problem hide. Each
function gives the class of one quantity in words that are short enough for a list of cases.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

IN_PADDING = ">= window"
"""The class of a pad that holds whole windows."""

Details = dict[str, str]
"""The class of each factor, by the factor's name."""

SIZES = (
    (1, "1"),
    (2, "2"),
    (3, "3"),
    (7, "4-7"),
    (31, "8-31"),
    (64, "32-64"),
    (128, "65-128"),
    (256, "129-256"),
    (1024, "257-1024"),
)

MANY = 8
"""Steps that count as many: an automatic split of as many has room, and the deepest pipeline has had two turns."""


@dataclass(frozen=True)
class Cut:
    """The cut of an instance's products: the tile (M, N, K), elements of a load of A, B and C, and groups at once."""

    tile: tuple[int, int, int] = (1, 1, 1)
    vector: tuple[int, int, int] = (1, 1, 1)
    merge: int = 1


def size(value: int) -> str:
    """Return the class of a length by its size."""
    return next((name for most, name in SIZES if value <= most), ">1024")


def parity(value: int) -> str:
    """Return the class of a length by the largest power of two up to 8 that divides it."""
    return next(f"{step}n" for step in (8, 4, 2, 1) if value % step == 0)


def few(value: int, most: int = 3) -> str:
    """Return the value itself, or that it is larger than ``most``."""
    return str(value) if value <= most else f">{most}"


def length(name: str, value: int) -> Details:
    """Return the classes of a length: its size, and what divides it."""
    return {name: size(value), f"{name}_mod": parity(value)}


def tiled(name: str, value: int, tile: int) -> Details:
    """Return the classes of a length that tiles cut: how many there are, and what the last one holds."""
    return {f"{name}_tiles": few_or_parity(-(-value // tile)), f"{name}_tail": tail(value, tile)}


def tail(value: int, tile: int) -> str:
    """Return the class of what a length leaves in its last tile: nothing, 1 to 4, all but one, or odd or even."""
    rest = value % tile
    if rest <= 4:
        return str(rest)
    return "-1" if rest == tile - 1 else "odd" if rest % 2 else "even"


def few_or_parity(value: int) -> str:
    """Return 1 to 5, else odd or even."""
    return str(value) if value <= 5 else "odd" if value % 2 else "even"


def slices(split: int, steps: int) -> str:
    """Return the class of a split reduction by how its slices share the steps."""
    if split == 1:
        return "one"
    if split == -1:
        return "auto of one" if steps == 1 else "auto of few" if steps < MANY else "auto"
    if split > steps:
        return "empty"
    each = -(-steps // split)
    used = -(-steps // each)
    return "empty" if used < split else "even" if steps % split == 0 else "uneven"


def slice_steps(split: int, steps: int) -> Details:
    """Return the classes of a slice's steps, which a pipeline's depth meets, and of those of the last slice."""
    if split == -1:
        return {"slice_steps": "auto", "last_slice": "auto"}
    each = -(-steps // split)
    rest = steps % each
    return {
        "slice_steps": str(each) if each <= MANY else "odd" if each % 2 else "even",
        "last_slice": "whole" if not rest else "one" if rest == 1 else "several",
    }


def grid(rows: int, columns: int) -> str:
    """Return the class of a grid of tiles: one, a row or a column of them, or both numbers odd or even."""
    if rows == 1 or columns == 1:
        return "one" if rows == columns else "row" if rows == 1 else "column"
    return f"{'odd' if rows % 2 else 'even'} by {'odd' if columns % 2 else 'even'}"


def split(value: int) -> str:
    """Return the class of a split as asked for."""
    return "auto" if value == -1 else few(value) if value <= 3 else "4-9" if value < 10 else ">9"


def turns(own: int, usual: int) -> str:
    """Return the class of a grid that an option limits to ``own`` of ``usual`` blocks: the turns that each takes."""
    count = -(-usual // own) if own else 1
    return f"{few(count)}{' ragged' if own and usual % own else ''}"


def gaps(problem: Any) -> Details:
    """Return the class of each tensor by the axis after whose rows it has a gap."""
    found: Details = {}
    for tensor in problem.gap_orders:
        own = [gap for gap in problem.gaps if gap.tensor == tensor]
        known = "all" if problem.gap else "none"
        found[f"gap_{tensor}"] = known if not own else own[0].axis if len(own) == 1 else "several"
    return found


def tensors_with_gaps(problem: Any) -> str:
    """Return which tensors have gaps: none, all, one of them by name, or several."""
    if problem.gap:
        return "all"
    named = dict.fromkeys(gap.tensor for gap in problem.gaps)
    return "none" if not named else next(iter(named)) if len(named) == 1 else "several"


def of_quantities(problem: Any, quantities: Any, cut: Cut) -> Details:
    """Return the classes of any operation's problem: of its lengths against the tile, and of its choices."""
    from bitgate.model.space.quantity import Length, word

    found: Details = {}
    for quantity in quantities:
        value = getattr(problem, quantity.name)
        if isinstance(quantity, Length):
            found |= length(quantity.name, value)
            if quantity.tile is not None and cut.tile[quantity.tile] > 1:
                found |= tiled(quantity.name, value, cut.tile[quantity.tile])
        elif quantity.name == "split_k":
            found["split"] = split(value)
        elif quantity.name not in ("dtypes", "gap", "gaps", "d_form"):
            found[quantity.name] = word(value)
    if hasattr(problem, "gap_orders"):
        found |= gaps(problem)
        found["gaps"] = tensors_with_gaps(problem)
    return found
