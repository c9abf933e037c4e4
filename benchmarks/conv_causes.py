"""Explain cell by cell what makes PyTorch's convolutions red: ``python benchmarks/conv_causes.py FOLDER``.

FOLDER holds a run's ``results.jsonl``, as for benchmarks/vendors.py. Each wrong convolution runs again on its target
with its tensors kept in FOLDER/causes. Its result is computed anew as each step would leave it. A partial sum is that
of a window element; of a gradient of weights, that of an image.

- results: a subnormal result is zero;
- partial sums: so is a subnormal partial sum;
- products: so is a subnormal product;
- operands: a subnormal operand is taken for zero, and a subnormal result is zero;
- rounded: each partial sum is rounded to the type of the result, and added in that type;
- added: each partial sum is added in that type, but not rounded before;
- last first: the same, and the last partial sum is the first;
- in some order: where a step of these leaves wrong cells unexplained: each f32 partial sum is any that an order of its
  n terms can give, within (n - 1) 2^-24 times the sum of their magnitudes. The step gives the cells that lie between.

A wrong cell, by the verdict's own rule, is explained where a step gives its bits, or comes to it four times as near as
the reference. Of each tensor the step counts that explains most, and of those the one whose bits most cells have.
Prints a table in Markdown with the number of cells that each step makes wrong, whatever the target does.
``--no-run`` explains the tensors that an earlier run kept.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterator, Mapping
from math import prod
from pathlib import Path
from typing import Any

import numpy as np
from causes import Kept, each_kept, reason_of, red_of, to, verify_again

import bitgate

PASSES = ("fwd", "bwd_data", "bwd_weight")
SMALLEST_NORMAL = 2.0**-126
"""The smallest normal number of f32, the type of sums, and of bf16."""
UNIT = 2.0**-24
"""Half a unit in the last place of f32, relative: the most that an addition loses."""
MOST_CELLS = 1 << 25
Cells = Mapping[str, np.ndarray]
View = Callable[[np.ndarray], np.ndarray]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--no-run", action="store_true", help="Explain what an earlier run kept.")
    asked = parser.parse_args()
    red = [one for one in red_of(asked.folder) if one.key.case.startswith(PASSES)]
    small = [one for one in red if cells_of(bitgate.problem(one.key.case)) <= MOST_CELLS]
    if not asked.no_run:
        verify_again(small, asked.folder / "causes")
    print("| case | data | wrong | explained | step | cells with its bits | cells that a step makes wrong |")
    print("|---|---|---|---|---|---|---|")
    totals = np.zeros(2, int)
    for one, kept in each_kept(small, asked.folder / "causes"):
        found = explained(one.key.case, kept) if kept else [reason_of(one), *[""] * 4]
        totals += [int(count) for count in found[:2]] if kept else 0
        print(f"| `{one.key.case}` | {one.key.fill} | {' | '.join(found)} |")
    print(f"\n{len(small)} are red: {totals[1]} of {totals[0]} wrong cells are explained.")
    if len(small) < len(red):
        print(f"\n{len(red) - len(small)} more are red, whose partial sums have more than {MOST_CELLS} cells.")
    return 0


def cells_of(problem: Any) -> int:
    """Return the number of cells of all partial sums."""
    sums = problem.n if problem.result == "wei" else prod(problem.filter)
    return int(sums * prod(problem.tensors[problem.result].lengths))


def explained(case: str, folder: Path) -> list[str]:
    """Return a case's cells of the table."""
    kept = Kept(case, folder)
    role = kept.problem.result
    steps = computed(kept)
    counts, causes = kept.counts(role), kept.causes(role, {name: {role: cells} for name, cells in steps.items()})
    if not causes or causes[0]["explained"] < counts["wrong"]:
        steps |= in_some_order(kept)
        causes = kept.causes(role, {name: {role: cells} for name, cells in steps.items()})
    none = {"explained": 0, "step": "not explained" if counts["wrong"] else "", "same": 0}
    best: dict[str, Any] = next((one for one in causes if one["explained"]), none)
    made = {name: int(kept.wrong(role, kept.rounded(role, cells)).sum()) for name, cells in steps.items()}
    wrong_by = "; ".join(f"{name} {count}" for name, count in made.items() if count)
    bits = f"{best['same']} of {counts['cells']}"
    return [str(counts["wrong"]), str(best["explained"]), best["step"], bits, wrong_by]


@np.errstate(invalid="ignore", over="ignore")
def computed(kept: Kept) -> dict[str, np.ndarray]:
    """Return the result as each step leaves it."""
    problem, own = kept.problem, kept.problem.tensors[kept.problem.result].dtype.numpy
    cells = {role: host.logical.astype(float) for role, host in kept.inputs.items()}
    sums = list(partial_sums(problem, cells))
    without = {role: normal(one) for role, one in cells.items()}
    rounded = [to(own, one) for one in sums]
    return {
        "results": normal(sum(sums)),
        "partial sums": normal(sum(map(normal, sums))),
        "products": normal(sum(partial_sums(problem, cells, normal))),
        "operands": normal(sum(partial_sums(problem, without))),
        "rounded": added(own, rounded),
        "rounded, last first": added(own, rounded[::-1]),
        "added": added(own, sums),
        "added, last first": added(own, sums[::-1]),
    }


@np.errstate(invalid="ignore", over="ignore")
def in_some_order(kept: Kept) -> dict[str, np.ndarray]:
    """Return the target's result, but where no order of a partial sum's terms gives it: there the nearest that one
    does."""
    problem, own = kept.problem, kept.problem.tensors[kept.problem.result].dtype.numpy
    cells = {role: host.logical.astype(float) for role, host in kept.inputs.items()}
    result, _ = kept.of(problem.result)
    # An image's products are at its outputs; those of a window element are with each channel that the result lacks.
    terms = {"wei": prod(problem.output), "in": problem.k, "out": problem.c}[problem.result]
    error = (terms - 1) * UNIT
    pairs = zip(partial_sums(problem, cells), partial_sums(problem, cells, np.abs), strict=True)
    low, high = zip(*((one - error * size, one + error * size) for one, size in pairs), strict=True)
    found = {}
    for name, type_of_terms in (("rounded", own), ("added", np.float64)):
        for words, order in (("", 1), (", last first", -1)):
            ends = (added(own, [to(type_of_terms, one) for one in end][::order]) for end in (low, high))
            found[f"{name}{words}, in some order"] = np.clip(result, *ends)
    return found


def normal(cells: Any) -> np.ndarray:
    """Take subnormal numbers for zeros of their sign."""
    return np.asarray(np.where(np.abs(cells) < SMALLEST_NORMAL, np.copysign(0.0, cells), cells))


def added(dtype: Any, terms: list[np.ndarray]) -> np.ndarray:
    """Add in a type, one after the other: each sum is one of f32 before it is rounded to the type."""
    total = np.zeros_like(terms[0])
    for term in terms:
        total = to(dtype, to(np.float32, total + term))
    return total


def partial_sums(problem: Any, cells: Cells, view: View = np.asarray) -> Iterator[np.ndarray]:
    """Yield the sums whose sum is the result: of each window element, or of each image of a gradient of weights.

    Products are seen through ``view``. Factors are at (group, image, k, c, output cells).
    """
    lengths, is_of_images = problem.tensors[problem.result].lengths, problem.result == "wei"
    of_images = np.zeros((problem.n if is_of_images else 0, *lengths))
    for element in np.ndindex(*problem.filter):
        at = places(problem, element)
        missing = {"in": (2,), "out": (3,), "wei": (1, *range(4, 4 + problem.ndim))}
        one, other = (np.expand_dims(cells[role][at[role]], missing[role]) for role in cells)
        products = view(one * other)
        if is_of_images:
            summed = products.sum(tuple(range(4, products.ndim)))
            for found, of_image in zip(of_images, summed.swapaxes(0, 1), strict=True):
                found[at["wei"]] = of_image
        else:
            found = np.zeros(lengths)
            found[at[problem.result]] = products.sum(3 if problem.result == "out" else 2)
            yield found
    yield from of_images


def places(problem: Any, element: tuple[int, ...]) -> dict[str, tuple[Any, ...]]:
    """Return the indices of the cells of each tensor that a window element brings together."""
    outputs, inputs = [], []
    for axis, index in enumerate(element):
        output = np.arange(problem.output[axis])
        place = output * problem.stride[axis] + index * problem.dilation[axis] - problem.left_pad[axis]
        is_inside = (place >= 0) & (place < problem.input[axis])
        outputs.append(output[is_inside])
        inputs.append(place[is_inside])
    every = (slice(None),) * 3
    return {"in": every + np.ix_(*inputs), "out": every + np.ix_(*outputs), "wei": every + element}


if __name__ == "__main__":
    sys.exit(main())
