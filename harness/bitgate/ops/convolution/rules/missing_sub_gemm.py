"""Whole sub-GEMMs of bwd_data never ran: the cells of their residue classes are zero, or still poison (#7732)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from bitgate.model.finding import Finding, Role
from bitgate.ops.convolution.decomposition import SubGemm
from bitgate.ops.convolution.problem import ConvProblem
from bitgate.ops.convolution.rules.owners import CellOwners, owners, owners_of_several
from bitgate.ops.convolution.rules.positions import wrong_positions
from bitgate.verify.diagnose.places import format_indices, format_list
from bitgate.verify.diagnose.scene import Scene, holds_bits, is_zero

MOST_RESIDUES = 3


@dataclass(frozen=True)
class _Census:
    """Sub-GEMMs by what is seen in their cells; ``unseen`` own no cell of the image."""

    missing: tuple[int, ...]
    right: tuple[int, ...]
    unseen: tuple[int, ...]
    content: str


def missing_sub_gemm(scene: Scene[ConvProblem]) -> Finding | None:
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
    """None unless the wrong cells are exactly those of sub-GEMMs of which not one cell was computed."""
    wrong = wrong_positions(scene)
    if wrong[cells.owner < 0].any():
        return None
    # Look only at the groups and images in which anything is wrong: the others are told by their own rules.
    result = scene.result[scene.wrong_along(0)][:, scene.wrong_along(1)]
    for content, untouched in (
        ("zero", is_zero(result)),
        ("poison", holds_bits(result, scene.poison)),
    ):
        computed = np.asarray(~untouched.all(axis=(0, 1, 2)))
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
    """``, (x + pad) mod 3 not (0, 0),``, whichever of the two lists is short; nothing if neither is."""
    everybody_owned = bool((owners(scene.problem).owner >= 0).all())  # else "not these" would name cells of nobody too
    if everybody_owned and len(right) <= len(missing) and 0 < len(right) <= MOST_RESIDUES:
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
