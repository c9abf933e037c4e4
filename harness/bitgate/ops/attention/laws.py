"""Laws of attention: heads know of no others, keys have no order, and parts of them meet by their logarithms."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np

from bitgate.model.law import Axis, Data, KernelFunction, Law, Pair, cut, exact_data, on_exact, only, turned
from bitgate.model.sized import SizedProblem
from bitgate.ops.attention.attention import KeyMask
from bitgate.ops.attention.fills import ONE, code_of
from bitgate.ops.attention.sequences import gathered


def resized(letter: str) -> Any:
    """Return a function that gives a problem another length of that name."""
    return lambda problem, length: replace(problem, sizes=replace(problem.sizes, **{letter: length}))


BATCHES = Axis("b", "batches", {"q": 0, "k": 0, "v": 0, "o": 0, "lse": 0, "lengths": 0}, resized("b"))
HEADS = Axis("h", "heads", {"q": 1, "k": 1, "v": 1, "o": 1, "lse": 1, "k_scale": 0, "v_scale": 0}, resized("h"))
QUERIES = Axis("s", "queries", {"q": 2, "o": 2, "lse": 2}, resized("s"))
KEYS = Axis("t", "keys", {"k": 2, "v": 2}, resized("t"))
PAGED_BATCHES = Axis("b", "batches", {"q": 0, "o": 0, "lse": 0, "lengths": 0, "page_table": 0}, resized("b"))
PACKED_HEADS = replace(HEADS, places=dict.fromkeys(HEADS.places, 0))


def has_data(problem: SizedProblem) -> bool:
    """Return whether winners and equal logits can be made for a problem."""
    return code_of(problem) is not None


def _is_packed(problem: SizedProblem) -> bool:
    return has_data(problem) and problem.sizes.packed


def _may_shift(problem: SizedProblem) -> bool:
    """Return whether keys that are larger by ONE are of their type."""
    return has_data(problem) and not problem.tensors["k"].dtype.is_float8


def _is_scaled(problem: SizedProblem) -> bool:
    return has_data(problem) and problem.sizes.scaled


def _is_unpacked(problem: SizedProblem) -> bool:
    return has_data(problem) and not problem.sizes.packed


def _is_paged(problem: SizedProblem) -> bool:
    return has_data(problem) and problem.sizes.paged


def _is_apart(problem: SizedProblem) -> bool:
    return _is_unpacked(problem) and not problem.sizes.paged


def _is_full(problem: SizedProblem) -> bool:
    return _is_unpacked(problem) and problem.sizes.mask is KeyMask.FULL


def _is_unmasked(problem: SizedProblem) -> bool:
    return _is_full(problem) and _is_apart(problem) and not problem.sizes.padded


def _has_parts(problem: SizedProblem) -> bool:
    return _is_unmasked(problem) and problem.sizes.lse and problem.sizes.t > 1


def _always(problem: SizedProblem, kernel: KernelFunction) -> bool:
    return has_data(problem)


def _shifted(problem: SizedProblem, kernel: KernelFunction, data: Data) -> Iterator[Pair]:
    """Yield o of keys that all have one more in their first column: each query's logits move by one number."""
    more = np.zeros(problem.sizes.d)
    more[0] = ONE
    yield "o of shifted keys", kernel(problem, data), kernel(problem, {**data, "k": data["k"] + more})


def _scaled(problem: SizedProblem, kernel: KernelFunction, data: Data) -> Iterator[Pair]:
    whole = kernel(problem, data)
    for scale in (-1, 2):
        yield f"{scale} times v", kernel(problem, {**data, "v": scale * data["v"]}), scale * whole


def _of_scales(problem: SizedProblem, kernel: KernelFunction, data: Data) -> Iterator[Pair]:
    whole = kernel(problem, data)
    other = kernel(problem, {**data, "v_scale": 2 * data["v_scale"]})
    yield "twice the scale of v", other, 2 * whole
    other = kernel(problem, {**data, "k_scale": 2 * data["k_scale"], "q": data["q"] / 2})
    yield "twice the scale of k, and half of q", other, whole


def _spans(data: Data, letter: str) -> list[range]:
    """Return the queries (``q``) or keys (``k``) of each packed sequence."""
    begins = data[f"cu_seqlens_{letter}"].astype(int).tolist()
    return [range(begin, end) for begin, end in pairwise(begins)]


def _repacked(problem: SizedProblem, kernel: KernelFunction, data: Data) -> Iterator[Pair]:
    """Yield each output, and that of sequences which are packed in reverse order."""
    spans = {letter: _spans(data, letter)[::-1] for letter in "qk"}
    rows = {letter: [row for span in own for row in span] for letter, own in spans.items()}
    moved = {role: data[role][:, rows["q" if role == "q" else "k"]] for role in ("q", "k", "v")}
    ends = {f"cu_seqlens_{letter}": np.cumsum([0, *map(len, own)]).astype(float) for letter, own in spans.items()}
    for role in problem.outputs:
        whole = kernel(problem, data, role)
        yield (
            f"{role}: sequences packed in reverse",
            kernel(problem, {**data, **moved, **ends}, role),
            whole[:, rows["q"]],
        )


def _unpacked(problem: SizedProblem, kernel: KernelFunction, data: Data) -> Iterator[Pair]:
    """Yield what each packed sequence gives, and what it gives alone."""
    for role in problem.outputs:
        whole = kernel(problem, data, role)
        for number, (queries, keys) in enumerate(zip(_spans(data, "q"), _spans(data, "k"), strict=True)):
            if not queries or not keys:
                continue
            sizes = replace(problem.sizes, b=1, s=len(queries), t=len(keys), packed=False)
            own = {name: data[name][None, :, queries if name == "q" else keys] for name in ("q", "k", "v")}
            own |= {name: data[name] for name in ("k_scale", "v_scale") if name in data}
            alone = kernel(replace(problem, sizes=sizes, gaps=()), own, role)[0]
            yield f"{role}: sequence {number} alone", whole[:, queries], alone


def _moved_pages(problem: SizedProblem, kernel: KernelFunction, data: Data) -> Iterator[Pair]:
    """Yield each output, and that of pages in reverse order, which the table follows."""
    table = problem.sizes.pages - 1 - data["page_table"]
    other = {**data, "page_table": table, "k": data["k"][::-1], "v": data["v"][::-1]}
    for role in problem.outputs:
        yield f"{role}: pages in reverse order", kernel(problem, data, role), kernel(problem, other, role)


def _without_pages(problem: SizedProblem, kernel: KernelFunction, data: Data) -> Iterator[Pair]:
    """Yield each output, and that of the same keys in a row."""
    keys = problem.sizes.t
    dense = replace(problem, sizes=replace(problem.sizes, p=1, paged=False), gaps=())
    other = {**data, **{role: gathered(data[role], data["page_table"])[:, :, :keys] for role in ("k", "v")}}
    for role in problem.outputs:
        yield f"{role}: keys in pages, and in a row", kernel(problem, data, role), kernel(dense, other, role)


def _parts(problem: SizedProblem, kernel: KernelFunction, data: Data) -> Iterator[Pair]:
    """Yield o, and o of two parts of the keys at their shares exp(lse of the part - lse of both)."""
    data = exact_data(problem, data, "peaked")
    keys = problem.sizes.t
    ends = (keys // 2, keys - keys // 2)
    o, lse, at = [], [], 0
    for length in ends:
        part = replace(problem, sizes=replace(problem.sizes, t=length))
        own = {**data, **{role: data[role][:, :, at : at + length] for role in ("k", "v")}}
        o.append(kernel(part, own))
        lse.append(kernel(part, own, "lse")[..., None])
        at += length
    both = np.logaddexp(*lse)
    merged = sum(values * np.exp(own - both) for values, own in zip(o, lse, strict=True))
    yield "parts of the keys, merged by lse", kernel(problem, data), np.asarray(merged)


LAWS: tuple[Law, ...] = (
    only(on_exact(turned(BATCHES)), _is_apart),
    only(on_exact(cut(BATCHES)), _is_apart),
    only(on_exact(turned(PAGED_BATCHES)), _is_paged),
    only(on_exact(turned(HEADS)), _is_unpacked),
    only(on_exact(turned(PACKED_HEADS)), _is_packed),
    only(on_exact(turned(QUERIES)), _is_full),
    only(on_exact(cut(QUERIES)), _is_full),
    only(on_exact(turned(KEYS)), _is_unmasked),
    only(on_exact(Law("shift", "logits of a query may all be larger by a number", _always, _shifted)), _may_shift),
    on_exact(Law("scale_v", "v times a number gives o times it", _always, _scaled)),
    only(on_exact(Law("repacked", "sequences may be packed in another order", _always, _repacked)), _is_packed),
    only(on_exact(Law("unpacked", "a packed sequence gives what it gives alone", _always, _unpacked)), _is_packed),
    only(on_exact(Law("moved_pages", "pages may be anywhere", _always, _moved_pages)), _is_paged),
    only(
        on_exact(Law("without_pages", "keys in pages give what they give in a row", _always, _without_pages)), _is_paged
    ),
    only(on_exact(Law("scales", "scales may be those of what they multiply", _always, _of_scales)), _is_scaled),
    only(Law("parts_by_lse", "parts of the keys meet by their logarithms", _always, _parts), _has_parts),
)
"""The laws in the order in which they are tried."""
