"""The engine of diagnosis: it asks the rules what the wrong cells have in common, and makes one sentence of their
findings.

A cause (why) leads the sentence, then the place (which cells), then the contents (what is in them). Each rule has a
time limit.
"""

from __future__ import annotations

import json
import os
import signal
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from pathlib import Path
from types import FrameType
from typing import Any, TypeVar

import numpy as np

from bitgate.core.errors import UsageError, raised
from bitgate.core.untrusted import shown
from bitgate.kernel.python_files import run_file
from bitgate.model import Problem
from bitgate.model.finding import Finding, Role, Rule
from bitgate.results.record import KINDS, Diagnosis
from bitgate.verify.diagnose.conversions import converted
from bitgate.verify.diagnose.factors import telling_factors
from bitgate.verify.diagnose.outside import stored_elsewhere
from bitgate.verify.diagnose.overlaps import overlapping
from bitgate.verify.diagnose.places import last_cells
from bitgate.verify.diagnose.receptive_field import receptive_field
from bitgate.verify.diagnose.rules import misplaced, never_written, overflow, poison, race, rounding, shifted, zero
from bitgate.verify.diagnose.scene import Scene
from bitgate.verify.diagnose.values import alike, special_values, turned_nan

FIRST: tuple[Rule, ...] = (race, receptive_field)
"""Rules of any operation that run before the operation's."""
RULES: tuple[Rule, ...] = (
    converted,
    stored_elsewhere,
    special_values,
    never_written,
    shifted,
    misplaced,
    overlapping,
    rounding,
    alike,
    poison,
    overflow,
    zero,
    last_cells,
    telling_factors,
    turned_nan,
)
"""Rules of any operation that run after the operation's."""
EVIDENCE_BYTES = 2800
"""Limit of the evidence; with the first wrong cells, which compare_outputs.py adds, it is 4 KB."""
CAUSE = "cause"
"""The key of the evidence under which the kind of a cause is, where one was found."""
AFTER_RACE = ("split_slice", "wrong_image", "wrong_group")
"""Causes that say which threads have met."""
TELLING = 0.8
"""Score of a content that all wrong cells share, or that no correct kernel gives."""


def diagnose(scene: Scene[Problem], more: Sequence[Rule] = ()) -> Diagnosis:
    """Return the Diagnosis of a result that differs from its reference. Raises ValueError if nothing is wrong.

    ``more`` are a user's rules, which go before ours where both know the same. A rule that fails, or that does not end,
    loses only its own finding: evidence["failed_rules"] says which, and why. The sentence names a rule that did not
    end, too.
    """
    if scene.count == 0 and scene.other_run is None:
        raise ValueError("nothing is wrong: there is nothing to diagnose")
    findings: list[Finding] = []
    failed: dict[str, str] = {}
    late: list[str] = []
    for rule in (*more, *_rules_for(scene)) if scene.count else _rules_for(scene):
        name = getattr(rule, "__name__", repr(rule))
        try:
            with np.errstate(all="ignore"):  # wrong results hold NaN and infinities of every kind
                finding = within(rule_seconds(), partial(_apply_rule, rule, scene))
        except DiagnosisTimeout as error:
            failed[name] = str(error)
            late.append(f"the rule {name} {error}")
            continue
        except (Exception, SystemExit) as error:
            failed[name] = shown(raised(error))
            continue
        if finding is not None:
            findings.append(finding)
    findings.sort(key=lambda finding: (finding.role, -finding.score))
    reported: list[Finding] = []
    for finding in findings:
        # Next to a cause, the contents of a part of the cells are noise.
        noise = finding.role is Role.CONTENT and finding.score < TELLING and reported and reported[0].role is Role.CAUSE
        # The cells are explained once: another way to compute the same values is no further cause.
        again = finding.role is Role.CAUSE and finding.examined and not _is_after_race(finding, reported)
        if not noise and not again and not any(finding.kind in earlier.implies for earlier in reported):
            reported.append(finding)
    kinds = tuple(dict.fromkeys(finding.kind for finding in reported)) or ("other",)
    evidence = _evidence(scene, reported) | ({"failed_rules": failed} if failed else {})
    return Diagnosis(kinds, "; ".join([_with_output_name(scene, _sentence(scene, reported)), *late]), evidence)


def _is_after_race(finding: Finding, reported: Sequence[Finding]) -> bool:
    """Return whether a cause may follow what was reported: nothing, or a race, of which slices and images say more."""
    return all(one.kind == "race" and finding.kind in AFTER_RACE for one in reported)


def _apply_rule(rule: Rule, scene: Scene[Problem]) -> Finding | None:
    """Return the rule's finding. Raises ValueError for a kind outside the closed vocabulary that dashboards use."""
    finding = rule(scene)
    if finding is not None and finding.kind not in KINDS:
        raise ValueError(f"'{finding.kind}' is none of {', '.join(KINDS)}")
    return finding


def _rules_for(scene: Scene[Problem]) -> tuple[Rule, ...]:
    """Return the rules in the order in which equally certain findings are reported; a run that is right may only have a
    race."""
    return (*FIRST, *scene.problem.operation.diagnostics.rules, *RULES) if scene.count else (race,)


def _with_output_name(scene: Scene[Problem], sentence: str) -> str:
    """Return the sentence with the name of its output, where there are several: a cause may speak of cells alone."""
    several = len(scene.problem.outputs) > 1
    return f"{scene.tensor_name}: {sentence}" if several and f" of {scene.tensor_name} " not in sentence else sentence


def _sentence(scene: Scene[Problem], reported: list[Finding]) -> str:
    causes = [finding for finding in reported if finding.role is Role.CAUSE]
    where = [finding for finding in reported if finding.role is Role.PLACE]
    places = [finding.text for finding in where]
    contents = [finding.text for finding in reported if finding.role is Role.CONTENT]
    examined = "" if scene.channels is None else f" (of {scene.result.size} examined)"
    share = f"{scene.count} of {scene.result.size} cells of {scene.tensor_name} are wrong{examined}"
    if causes:
        sentence = causes[0].text
        if causes[0].names_cells:
            # A group or image is all that can narrow them further.
            return sentence + ("; " + ", ".join(places) if places else "")
        if scene.count:
            sentence += f"; {share}"
        if causes[0].kind == "race" and len(causes) > 1:
            sentence += f"; in {scene.runs[0]}: {causes[1].text}"
        if 0 < causes[0].examined < scene.count:
            sentence += f" ({causes[0].examined} recomputed)"
        sentence = ", ".join([sentence, *places])
    else:
        reported_along = [finding.along for finding in where if finding.along is not None]
        if len(reported_along) == len(where):
            places += _box(scene, "".join(reported_along))
        sentence = ", ".join([share, *(places or ["spread over the whole tensor"])])
    return "; ".join([sentence, *contents])


def _box(scene: Scene[Problem], reported: str) -> list[str]:
    """Return the box around the wrong cells, along the axes that no finding has reported."""
    box = []
    for axis, letter in enumerate(scene.letters):
        hit = scene.wrong_along(axis).nonzero()[0]
        if hit[-1] - hit[0] + 1 < scene.result.shape[axis] and letter not in reported:
            first, last = (scene.true_index(axis, int(end)) for end in (hit[0], hit[-1]))
            box.append(f"{letter} {first}" if first == last else f"{letter} {first} to {last}")
    return ["within " + ", ".join(box)] if box else []


def _evidence(scene: Scene[Problem], reported: list[Finding]) -> dict[str, Any]:
    """Return evidence by kind; what does not fit into EVIDENCE_BYTES is left out, the lowest score first."""
    evidence: dict[str, Any] = {"cells": {"wrong": scene.count, "of": scene.result.size}}
    if reported and reported[0].role is Role.CAUSE:
        evidence[CAUSE] = reported[0].kind
    for finding in reported:
        candidate = {**evidence, finding.kind: {**evidence.get(finding.kind, {}), **finding.evidence}}
        if len(json.dumps(candidate)) <= EVIDENCE_BYTES:
            evidence = candidate
    return evidence


T = TypeVar("T")

DIAGNOSIS_SECONDS = "BITGATE_DIAGNOSIS_SECONDS"
USUAL_SECONDS = 60.0
SHARE_OF_A_RULE = 0.2
AGAIN_SECONDS = 0.5
"""Interval of further alarms, for a rule that catches everything."""


class DiagnosisTimeout(BaseException):
    """The end of a rule's time. It is no Exception, since a rule may catch those."""


def diagnosis_seconds() -> float:
    """Return the time limit of a whole diagnosis; afterwards the parent takes the verdict without it."""
    return float(os.environ.get(DIAGNOSIS_SECONDS) or USUAL_SECONDS)


def rule_seconds() -> float:
    """Return the time limit of one rule, which leaves time for the others."""
    return SHARE_OF_A_RULE * diagnosis_seconds()


def within(seconds: float, do: Callable[[], T]) -> T:
    """Return what ``do`` returns, or raise DiagnosisTimeout in it when the time is up, at the next step of Python.

    The verdict is known before, and must not be lost to a rule that loops. There is no limit where no alarm can be set:
    in another thread, or while another timer runs.
    """
    before = signal.getsignal(signal.SIGALRM)
    is_main = threading.current_thread() is threading.main_thread()
    if not is_main or before is None or any(signal.getitimer(signal.ITIMER_REAL)):
        return do()

    def late(number: int, frame: FrameType | None) -> None:
        raise DiagnosisTimeout(f"did not end within {seconds:g} s")

    signal.signal(signal.SIGALRM, late)
    try:
        signal.setitimer(signal.ITIMER_REAL, seconds, AGAIN_SECONDS)
        try:
            return do()
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0)
    finally:
        signal.signal(signal.SIGALRM, before)


def load_rules(files: Iterable[Path]) -> tuple[Rule, ...]:
    """Return a user's rules: the tuples ``RULES`` of the Python files that ``bitgate.toml`` names, in their order.

    A judge loads them in copies of its process only (``user_rules``): a rule may be wrong in any way. Raises
    UsageError that names the file and its mistake.
    """
    return tuple(rule for file in files for rule in _load_file(file))


def _load_file(file: Path) -> Iterator[Rule]:
    try:
        module = run_file(file, f"bitgate_rules_{file.stem}")
    except UsageError:
        raise
    except (Exception, SystemExit) as error:
        raise UsageError(f"{file}: {shown(raised(error))}") from None
    rules = getattr(module, "RULES", None)
    if not isinstance(rules, tuple) or not rules or not all(map(callable, rules)):
        raise UsageError(f"{file}: defines no RULES: a tuple of functions from a Scene to a Finding or None")
    yield from rules
