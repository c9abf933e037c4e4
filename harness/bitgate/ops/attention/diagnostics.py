"""Diagnostics of attention: its mistakes recomputed on whole queries, its laws, and a figure of its mask."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from math import prod

import numpy as np
from numpy.typing import NDArray

from bitgate.model.diagnostics import Diagnostics
from bitgate.model.figure import PADDING, PLAIN, Figure, SquaresFigure, Swatch, figures_of, window
from bitgate.model.finding import Finding, Role, Rule
from bitgate.model.law import Law
from bitgate.model.sized import SizedProblem
from bitgate.model.thread_map import Cell, ThreadMap
from bitgate.numerics.bits import Array, bits_of
from bitgate.ops.attention.attention import AttentionSizes, KeyMask, admitted
from bitgate.ops.attention.laws import LAWS
from bitgate.ops.attention.mistakes import KnownQueries, mistakes
from bitgate.verify.diagnose.places import format_indices, left_out
from bitgate.verify.diagnose.row_mistakes import explained
from bitgate.verify.diagnose.scene import Scene

SHADE = 32
"""Keys that are drawn in one shade: a tile of many kernels."""


TELLING = 4
"""Different numbers that wrong cells must hold, if these are to be the results of other sequences."""
NEAR = 2.0**-9
"""The difference of alike results, in shares of the right one."""


def mistaken(scene: Scene[SizedProblem]) -> Finding | None:
    """Find the defect that gives every wrong cell of some queries."""
    if not scene.inputs or scene.channels is not None:
        return None
    known = KnownQueries(scene)
    return explained(known, mistakes(known))


def heads_left_out(scene: Scene[SizedProblem]) -> Finding | None:
    """Find that whole heads were not computed."""
    return left_out(scene, scene.letters.index("h"), "head")


def unwritten(scene: Scene[SizedProblem]) -> Finding | None:
    """Find NaN that comes from pages past the keys of a batch: nothing was written to them."""
    sizes: AttentionSizes = scene.problem.sizes
    if not sizes.paged or not scene.count or not np.isnan(scene.result[scene.wrong].astype(np.float64)).all():
        return None
    tensors = scene.problem.tensors
    is_packed = all(tensors[role].space == prod(tensors[role].lengths) for role in ("k", "v"))
    held = "pages past the keys of a batch are" + ", and padding of k or v is" * (not is_packed)
    text = f"the wrong cells are NaN, as {held}: {'these are' if is_packed else 'one of them is'} read"
    evidence = {"nan": scene.count}
    return Finding("poison", Role.CAUSE, 0.97, text, evidence, frozenset({"other", "shifted", "wrong_group"}))


def sequences(scene: Scene[SizedProblem]) -> Finding | None:
    """Find that the wrong cells lie in all packed sequences from one on, and in no other."""
    sizes: AttentionSizes = scene.problem.sizes
    if not sizes.packed or not scene.inputs or scene.channels is not None or not scene.count:
        return None
    begin = np.asarray(scene.inputs["cu_seqlens_q"]).astype(np.int64)
    wrong = scene.wrong_along(1)
    bad = [number for number in range(sizes.b) if wrong[begin[number] : begin[number + 1]].any()]
    every = [number for number in range(bad[0], sizes.b) if begin[number] < begin[number + 1]]
    share = 1 - begin[bad[0]] / sizes.s
    if bad[0] == 0 or bad != every or scene.by_chance(float(share)):
        return None
    noun = "sequence" if bad[0] == sizes.b - 1 else "sequences"
    text = f"only in packed {noun} {format_indices(range(bad[0], sizes.b))} of {sizes.b}"
    return Finding("wrong_image", Role.PLACE, 0.9, text, {"sequences": bad}, along=scene.letters[1])


def from_the_first(scene: Scene[SizedProblem]) -> Finding | None:
    """Find that the results of each packed sequence are written as if it began at the first query."""
    sizes: AttentionSizes = scene.problem.sizes
    if not sizes.packed or not scene.inputs or scene.channels is not None or not scene.count:
        return None
    begin = np.asarray(scene.inputs["cu_seqlens_q"]).astype(np.int64)
    found, right = (np.moveaxis(cells, 1, 0) for cells in (scene.result, scene.reference))
    longest = int(np.diff(begin).max(initial=0))
    written = scene.wrong_result[bits_of(scene.wrong_result) != scene.poison].astype(np.float64)
    if np.unique(written[np.isfinite(written)]).size < TELLING:
        return None  # a few cells, or such that are all alike, are those of another sequence by chance
    for query in range(sizes.s):
        held = [right[first + query] for first, end in pairwise(begin) if first + query < end]
        # Which of the sequences is written last is open.
        empty = bits_of(found[query]) == scene.poison
        if not np.all(np.any([_is_near(found[query], one) for one in held], axis=0) if held else empty):
            return None
    text = "the results of every packed sequence are written as if it began at the first query, over those of others"
    evidence = {"longest": longest}
    return Finding("operand", Role.CAUSE, 0.985, text, evidence, frozenset({"never_written", "wrong_image", "shifted"}))


def _is_near(found: Array, right: Array) -> NDArray[np.bool_]:
    """Return where cells are alike but for the rounding of narrow operands."""
    ours, theirs = found.astype(np.float64), right.astype(np.float64)
    with np.errstate(invalid="ignore"):
        is_near = np.isfinite(theirs) & (np.abs(ours - theirs) <= NEAR * np.abs(theirs))
        return np.asarray((ours == theirs) | is_near)


def _key(sizes: AttentionSizes, batch: int, group: int, key: int) -> str:
    """Return where a key begins; data say which page it is on."""
    if not sizes.paged:
        return f"k[{batch},{group},{key},0]"
    return f"k[page_table[{batch},{key // sizes.p}],{group},{key % sizes.p},0]"


def _words(sizes: AttentionSizes) -> str:
    words = {
        KeyMask.FULL: "all keys",
        KeyMask.CAUSAL: "keys up to i + t - s",
        KeyMask.WINDOW: f"the last {sizes.w} of these",
    }
    return words[sizes.mask] + ", of which lengths says the number that counts" * sizes.padded


class AttentionDiagnostics(Diagnostics):
    """The explanations of attention's results."""

    rules: tuple[Rule, ...] = (mistaken, unwritten, heads_left_out, from_the_first, sequences)
    laws: tuple[Law, ...] = LAWS

    def derived(self, problem: SizedProblem) -> tuple[str, ...]:
        sizes: AttentionSizes = problem.sizes
        shared = f"{sizes.h // sizes.kv} of {sizes.h} heads of queries share each head of keys and values"
        if sizes.packed:
            return shared, f"a query i of s in a sequence of t keys admits {_words(sizes)}; {sizes.b} sequences"
        pairs = int(admitted(sizes).mask(sizes.t)[0].sum())
        words = f"a query i admits {_words(sizes)}: {pairs} of {sizes.s * sizes.t} pairs of a query and a key"
        pages = f"each batch has {sizes.table} of {sizes.pages} pages of {sizes.p} keys"
        return (shared, words, pages) if sizes.paged else (shared, words)

    def cell_lines(self, problem: SizedProblem, cell: Cell) -> Sequence[str]:
        sizes: AttentionSizes = problem.sizes
        if sizes.packed:
            head, query = cell[:2]
            return [f"inputs: q[{head},{query}] against k and v of head {head // (sizes.h // sizes.kv)}, its sequence"]
        batch, head, query = cell[:3]
        group, keys = head // (sizes.h // sizes.kv), admitted(sizes)
        first, end = int(keys.first[batch, query]), int(keys.end[batch, query])
        what = f"keys {first} to {end - 1}" if end > first else "no key: the result is 0"
        padding = f", and of these the first lengths[{batch}]" * sizes.padded
        return [
            f"inputs: q[{batch},{head},{query}] against k and v of head {group}, {what}{padding}",
            f"  first q[{batch},{head},{query},0]" + f" and {_key(sizes, batch, group, first)}" * (end > first),
        ]

    def figures(self, problem: SizedProblem, threads: ThreadMap | None, cell: Cell | None) -> Sequence[Figure]:
        if problem.sizes.packed:  # data say where sequences begin
            return []
        return [mask_figure(problem.sizes, cell), *figures_of(threads, cell, (0, 0, 0, 0))]


def mask_figure(sizes: AttentionSizes, cell: Cell | None) -> SquaresFigure:
    """Return the plane of queries and keys: which are admitted, in shades of SHADE keys; padding is data."""
    query = None if cell is None else cell[2]
    keys = admitted(sizes)
    last = None if query is None else max(0, int(keys.end[0, query]) - 1)
    down, across = window("query", 0, sizes.s, query), window("key", 0, sizes.t, last)
    rows = slice(down.first, down.first + down.count)
    columns = np.arange(across.first, across.first + across.count)
    is_in = keys.mask(sizes.t)[0, 0, rows][:, columns]
    shades = np.broadcast_to(columns // SHADE % 2 == 1, is_in.shape)
    padding = "; lengths, which are data, mask the last keys as well" if sizes.padded else ""
    title = f"mask {sizes.mask.value}: {sizes.s} queries and {sizes.t} keys, shades of {SHADE} keys{padding}"
    swatches = (Swatch("colour0", "admitted"), Swatch(PADDING if sizes.mask is not KeyMask.FULL else PLAIN, "masked"))
    marked = None if query is None or last is None else (query, last)
    return SquaresFigure(title, down, across, swatches, np.where(is_in, 0, 1), shades, marked=marked)
