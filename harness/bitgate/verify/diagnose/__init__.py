"""Diagnosis: what the wrong cells have in common, as kinds from a closed vocabulary and as one sentence.

Each rule is a pure function of a Scene. A cause (why) leads the sentence, then the place (which cells), then what
stands in them.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import numpy as np

from bitgate.record import KINDS, Diagnosis
from bitgate.verify.diagnose.aliased_d import aliased_d
from bitgate.verify.diagnose.border import border
from bitgate.verify.diagnose.channel_tail import channel_tail
from bitgate.verify.diagnose.k_tail import k_tail
from bitgate.verify.diagnose.missing_sub_gemm import missing_sub_gemm
from bitgate.verify.diagnose.never_written import never_written
from bitgate.verify.diagnose.overflow import overflow
from bitgate.verify.diagnose.owned import Rule
from bitgate.verify.diagnose.pad_side import pad_side
from bitgate.verify.diagnose.poison import poison
from bitgate.verify.diagnose.race import race
from bitgate.verify.diagnose.receptive_field import receptive_field
from bitgate.verify.diagnose.rounding import rounding
from bitgate.verify.diagnose.scene import Finding, Role, Scene
from bitgate.verify.diagnose.shifted import shifted
from bitgate.verify.diagnose.split_slice import split_slice
from bitgate.verify.diagnose.taps import missing_tap
from bitgate.verify.diagnose.tile import sub_gemm_place, tile_tail
from bitgate.verify.diagnose.wrong_group import wrong_group
from bitgate.verify.diagnose.wrong_image import wrong_image
from bitgate.verify.diagnose.zero import zero

__all__ = ["Finding", "Role", "Scene", "diagnose"]

RULES: tuple[Rule, ...] = (
    race,
    receptive_field,
    missing_sub_gemm,
    never_written,
    aliased_d,
    wrong_group,
    wrong_image,
    pad_side,
    split_slice,
    k_tail,
    missing_tap,
    shifted,
    rounding,
    poison,
    overflow,
    zero,
    channel_tail,
    border,
    sub_gemm_place,
    tile_tail,
)
EVIDENCE_BYTES = 2800
"""With the first wrong cells, which the spine adds, 4 KB."""
AXES = {"wrong_group": "g", "wrong_image": "n", "channel_tail": "kc"}
"""Places along one axis: the others still need to be told."""
TELLING = 0.8
"""Score of a content that all wrong cells share, or that no correct kernel gives."""


def diagnose(scene: Scene, more: Sequence[Rule] = ()) -> Diagnosis:
    """The Diagnosis of a result that differs from its reference. Raises ValueError if nothing is wrong.

    ``more`` are an owner's rules, which go before ours where both know the same.

    A rule that fails takes nothing but its own finding with it: evidence["failed_rules"] says which, and why.
    """
    if scene.count == 0 and scene.other_run is None:
        raise ValueError("nothing is wrong: there is nothing to diagnose")
    findings: list[Finding] = []
    failed: dict[str, str] = {}
    for rule in (*more, *RULES):
        if not _applies(rule, scene):
            continue
        try:
            with np.errstate(all="ignore"):  # wrong results hold NaN and infinities of every kind
                finding = _checked(rule(scene))
        except Exception as error:
            failed[getattr(rule, "__name__", repr(rule))] = f"{type(error).__name__}: {error}"[:200]
            continue
        if finding is not None:
            findings.append(finding)
    findings.sort(key=lambda finding: (finding.role, -finding.score))
    told: list[Finding] = []
    for finding in findings:
        # Beside a cause, what stands in a part of the cells is noise.
        noise = finding.role is Role.CONTENT and finding.score < TELLING and told and told[0].role is Role.CAUSE
        if not noise and not any(finding.kind in earlier.implies for earlier in told):
            told.append(finding)
    kinds = tuple(dict.fromkeys(finding.kind for finding in told)) or ("other",)
    evidence = _evidence(scene, told) | ({"failed_rules": failed} if failed else {})
    return Diagnosis(kinds, _sentence(scene, told), evidence)


def _checked(finding: Finding | None) -> Finding | None:
    """Kinds are a closed vocabulary, which dashboards go by."""
    if finding is not None and finding.kind not in KINDS:
        raise ValueError(f"'{finding.kind}' is none of {', '.join(KINDS)}")
    return finding


def _applies(rule: Rule, scene: Scene) -> bool:
    """Only the race rule has something to say of a run that is right."""
    return scene.count > 0 or rule is race


def _sentence(scene: Scene, told: list[Finding]) -> str:
    causes = [finding for finding in told if finding.role is Role.CAUSE]
    where = [finding for finding in told if finding.role is Role.PLACE]
    places = [finding.text for finding in where]
    contents = [finding.text for finding in told if finding.role is Role.CONTENT]
    looked_at = "" if scene.channels is None else f" (of {scene.result.size} looked at)"
    share = f"{scene.count} of {scene.result.size} cells of {scene.tensor_name} are wrong{looked_at}"
    if causes:
        sentence = causes[0].text
        if causes[0].kind == "missing_sub_gemm":
            # The sentence names the cells already; the group or image is all that can narrow them further.
            return sentence + ("; " + ", ".join(places) if places else "")
        if scene.count:
            sentence += f"; {share}"
        sentence = ", ".join([sentence, *places])
    else:
        if all(finding.kind in AXES for finding in where):
            places += _box(scene, [AXES[finding.kind] for finding in where])
        sentence = ", ".join([share, *(places or ["spread over the whole tensor"])])
    return "; ".join([sentence, *contents])


def _box(scene: Scene, told: list[str]) -> list[str]:
    """The box around the wrong cells, along the axes that no finding has told of."""
    box = []
    for axis, letter in enumerate(scene.letters):
        hit = scene.wrong_along(axis).nonzero()[0]
        first, last = int(hit[0]), int(hit[-1])
        if last - first + 1 < scene.result.shape[axis] and letter not in "".join(told):
            box.append(f"{letter} {first}" if first == last else f"{letter} {first} to {last}")
    return ["within " + ", ".join(box)] if box else []


def _evidence(scene: Scene, told: list[Finding]) -> dict[str, Any]:
    """Evidence by kind; what does not fit into EVIDENCE_BYTES is left out, the least telling first."""
    evidence: dict[str, Any] = {"cells": {"wrong": scene.count, "of": scene.result.size}}
    for finding in told:
        candidate = {**evidence, finding.kind: {**evidence.get(finding.kind, {}), **finding.evidence}}
        if len(json.dumps(candidate)) <= EVIDENCE_BYTES:
            evidence = candidate
    return evidence
