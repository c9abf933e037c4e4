"""Rules of backward data: which sub-GEMM owns a cell of dx, and which sub-GEMMs or zero-fills are missing."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from bitgate.model.finding import Finding, Role
from bitgate.ops.convolution.decomposition import SubGemm, axis_classes, sub_gemms
from bitgate.ops.convolution.problem import ConvProblem, Pass
from bitgate.verify.diagnose.places import format_indices, format_list
from bitgate.verify.diagnose.rules import untouched
from bitgate.verify.diagnose.scene import Scene, holds_bits, is_zero


def wrong_positions(scene: Scene[ConvProblem]) -> NDArray[np.int64]:
    """Count wrong cells of each spatial position, over all groups, images and channels."""
    return np.asarray(np.count_nonzero(scene.wrong, axis=(0, 1, 2)))


@dataclass(frozen=True, eq=False)
class CellOwners:
    """The owners of the cells of dx: ``owner`` has its spatial shape and holds the index of a sub-GEMM, -1 if none."""

    gemms: tuple[SubGemm, ...]
    owner: NDArray[np.int64]


@lru_cache(maxsize=8)
def owners(problem: ConvProblem) -> CellOwners:
    """Return which sub-GEMM of bwd_data owns which cell of dx."""
    gemms = sub_gemms(problem)
    tildes = [_tilde_of_cells(problem, axis) for axis in range(problem.ndim)]
    counts = [int(axis.max(initial=0)) + 1 for axis in tildes]
    index_of = np.full(counts, -1, np.int64)
    for gemm in gemms:
        if all(t < n for t, n in zip(gemm.tilde, counts, strict=True)):
            index_of[gemm.tilde] = gemm.index
    grid = np.ix_(*tildes)
    owner = index_of[grid]
    for axis in grid:
        owner = np.where(axis < 0, -1, owner)
    return CellOwners(gemms, owner)


def owners_of_several(problem: ConvProblem) -> CellOwners | None:
    """Return the owners; None where there is one sub-GEMM, or none."""
    if problem.direction is not Pass.BWD_DATA:
        return None
    cells = owners(problem)
    return cells if len(cells.gemms) > 1 else None


def _tilde_of_cells(problem: ConvProblem, axis: int) -> NDArray[np.int64]:
    """Return for each dx coordinate of the axis the class that writes it, -1 if none does."""
    tilde = np.full(problem.input[axis], -1, np.int64)
    stride, dilation, pad = problem.stride[axis], problem.dilation[axis], problem.left_pad[axis]
    for cls in axis_classes(problem, axis):
        if cls.length == 0:
            continue
        x = np.arange(cls.begin, cls.end) * stride + cls.tilde * dilation - pad
        tilde[x[(x >= 0) & (x < tilde.size)]] = cls.tilde
    return tilde


MOST_RESIDUES = 3


@dataclass(frozen=True)
class _Census:
    """Sub-GEMMs by what is seen in their cells; ``unseen`` own no cell of the image."""

    missing: tuple[int, ...]
    right: tuple[int, ...]
    unseen: tuple[int, ...]
    content: str


def missing_sub_gemm(scene: Scene[ConvProblem]) -> Finding | None:
    """Find whole sub-GEMMs that never ran: cells of their residue classes are zero, or still poison (#7732)."""
    cells = owners_of_several(scene.problem)
    if cells is None:
        return None
    census = _census(scene, cells)
    if census is None:
        return None
    evidence = {
        "sub_gemms": len(cells.gemms),
        "missing": format_indices(census.missing),
        "right": format_indices(census.right),
        "content": census.content,
    }
    if census.unseen:
        evidence["without_cells"] = format_indices(census.unseen)
    return Finding(
        kind="missing_sub_gemm",
        role=Role.CAUSE,
        score=1.0,
        text=_sentence(scene, cells, census),
        evidence=evidence,
        implies=frozenset({"zero" if census.content == "zero" else "never_written", "border", "pad_side", "other"}),
        names_cells=True,
    )


def _census(scene: Scene[ConvProblem], cells: CellOwners) -> _Census | None:
    """Return None unless the wrong cells are exactly those of sub-GEMMs that computed not one cell."""
    wrong = wrong_positions(scene)
    if wrong[cells.owner < 0].any():
        return None
    # Look only at the groups and images in which anything is wrong: the others have separate rules.
    result = scene.result[scene.wrong_along(0)][:, scene.wrong_along(1)]
    for content, not_computed in (
        ("zero", is_zero(result)),
        ("poison", holds_bits(result, scene.poison)),
    ):
        computed = np.asarray(~not_computed.all(axis=(0, 1, 2)))
        count = len(cells.gemms)
        owned = cells.owner >= 0
        of = cells.owner[owned]
        computed_cells = np.bincount(of, computed[owned], count)
        wrong_cells = np.bincount(of, wrong[owned] > 0, count)
        seen = np.bincount(of, minlength=count) > 0
        missing = seen & (wrong_cells > 0) & (computed_cells == 0)
        if missing.all():
            return None  # nothing was computed at all: that is no matter of sub-GEMMs
        if missing.any() and not (seen & (wrong_cells > 0) & ~missing).any():
            return _Census(
                missing=_indices(missing),
                right=_indices(seen & ~missing),
                unseen=_indices(~seen),
                content=content,
            )
    return None


def _sentence(scene: Scene[ConvProblem], cells: CellOwners, census: _Census) -> str:
    missing, right = census.missing, census.right
    noun, verb, their = ("sub-GEMM", "is", "its") if len(missing) == 1 else ("sub-GEMMs", "are", "their")
    where = _residues(scene, cells.gemms, missing, right)
    content = "zero" if census.content == "zero" else "still poison"
    rest = "no other has cells in the image"
    if right:
        rest = f"sub-GEMM {right[0]} is right" if len(right) == 1 else f"sub-GEMMs {format_indices(right)} are right"
    named = f"{noun} {format_indices(missing)} of {len(cells.gemms)}"
    return f"{named} {verb} missing: {their} cells of dx{where} are {content}; {rest}"


def _residues(scene: Scene[ConvProblem], gemms: Sequence[SubGemm], missing: Sequence[int], right: Sequence[int]) -> str:
    """Return ``, (x + pad) mod 3 not (0, 0),``, from the shorter of the two lists; nothing if neither is short."""
    all_owned = bool((owners(scene.problem).owner >= 0).all())  # else "not these" would name unowned cells too
    if all_owned and len(right) <= len(missing) and 0 < len(right) <= MOST_RESIDUES:
        word, listed = "not ", right
    elif len(missing) <= MOST_RESIDUES:
        word, listed = "= ", missing
    else:
        return ""
    stride, dilation = scene.problem.stride, scene.problem.dilation
    residues = [
        _tuple([t * d % s for t, d, s in zip(gemms[index].tilde, dilation, stride, strict=True)]) for index in listed
    ]
    modulus = str(stride[0]) if len(set(stride)) == 1 else _tuple(stride)
    return f", (x + pad) mod {modulus} {word}{format_list(residues, 'or')},"


def _tuple(values: Sequence[int]) -> str:
    return str(values[0]) if len(values) == 1 else f"({', '.join(map(str, values))})"


def _indices(flags: NDArray[np.bool_]) -> tuple[int, ...]:
    return tuple(int(index) for index in np.flatnonzero(flags))


def zero_fill(scene: Scene[ConvProblem]) -> Finding | None:
    """Find cells of dx that no sub-GEMM reaches and that still hold poison: they were not cleared."""
    count = untouched(scene)
    if count == scene.result.size or count != scene.count or not _all_unreached(scene):
        return None
    text = (
        "the cells of dx that no sub-GEMM reaches still hold the poison from before the launch: the zero-fill is"
        " missing"
    )
    implies = frozenset({"never_written", "epilogue", "border", "pad_side", "other"})
    return Finding("never_written", Role.CAUSE, 1.0, text, {"untouched": count, "wrong": scene.count}, implies)


def unreached(scene: Scene[ConvProblem]) -> Finding | None:
    """Find that only cells of dx are wrong that no sub-GEMM reaches: the fill, which is all that writes them."""
    if scene.problem.direction is not Pass.BWD_DATA or not _all_unreached(scene):
        return None
    share = float((owners(scene.problem).owner < 0).mean())
    if share == 1 or scene.by_chance(share):
        return None
    text = "only in cells that no sub-GEMM reaches, where the fill alone writes the operation on 0"
    return Finding("epilogue", Role.PLACE, 0.96, text, {}, frozenset({"border", "pad_side"}))


def _all_unreached(scene: Scene[ConvProblem]) -> bool:
    if scene.problem.direction is not Pass.BWD_DATA:
        return False
    return bool((owners(scene.problem).owner[wrong_positions(scene) > 0] < 0).all())


def sub_gemm_place(scene: Scene[ConvProblem]) -> Finding | None:
    """Find that only some sub-GEMMs are wrong, though computed."""
    cells = owners_of_several(scene.problem)
    if cells is None:
        return None
    wrong = wrong_positions(scene) > 0
    if (wrong & (cells.owner < 0)).any():
        return None
    bad = {int(index) for index in np.unique(cells.owner[wrong])}
    seen = {int(index) for index in np.unique(cells.owner) if index >= 0}
    share = float(np.isin(cells.owner, list(bad)).mean())
    if bad == seen or scene.by_chance(share):
        return None
    noun = "sub-GEMM" if len(bad) == 1 else "sub-GEMMs"
    text = f"only in {noun} {format_indices(sorted(bad))} of {len(cells.gemms)}"
    return Finding("other", Role.PLACE, 0.75, text, {"sub_gemms": format_indices(sorted(bad))})
