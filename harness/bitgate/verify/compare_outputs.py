"""Comparison of the outputs that runs left with what they must be, for a case's launches and for a capsule alike."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bitgate.model import Problem
from bitgate.model.host_tensor import HostTensor
from bitgate.numerics.bits import Array, bits_of, first_true, parts
from bitgate.numerics.rounding import factors, ulps_between
from bitgate.results.record import Diagnosis, Outcome
from bitgate.runtime.seen_work import KERNEL
from bitgate.verify.diagnose import Rule, Scene, diagnose
from bitgate.verify.poison import poison_bits
from bitgate.verify.problem_data import Reference
from bitgate.verify.running import LaunchResult


@dataclass(frozen=True, eq=False)
class Comparison:
    """Result and reference in logical order (any strides), and how many of ``total`` cells are wrong.

    A cell is wrong if any bit differs, or, if ``outside`` is given, where that is true.
    """

    result: Array
    reference: Array
    total: int
    count: int
    outside: NDArray[np.bool_] | None = None

    @property
    def equal(self) -> bool:
        return self.count == 0

    @cached_property
    def mask(self) -> NDArray[np.bool_]:
        """True where a cell is wrong, in logical order."""
        if self.outside is not None:
            return self.outside
        return np.asarray(bits_of(self.result) != bits_of(self.reference))

    def first(self, limit: int = 10) -> tuple[tuple[int, ...], ...]:
        """Return the coordinates of the first wrong cells in logical order."""
        return tuple(first_true(self.mask, limit))

    @cached_property
    def largest_difference(self) -> float:
        """max |result - reference| over the wrong cells; inf where a NaN or an infinity is involved."""
        if self.equal:
            return 0.0
        # f32 holds the numbers of narrower types, and their differences precisely enough for a report.
        wide = np.float64 if self.result.dtype.itemsize > 2 else np.float32
        largest = 0.0
        for result, reference, wrong in parts(self.result, self.reference, self.mask):
            if not wrong.any():
                continue
            with np.errstate(invalid="ignore", over="ignore"):
                difference = np.abs(result[wrong].astype(wide) - reference[wrong].astype(wide))
            most = float(difference.max())
            if not most < np.inf:  # nor of NaN
                return np.inf
            largest = max(largest, most)
        return largest

    @cached_property
    def largest_ulps(self) -> int | None:
        """The largest difference in units in the last place of the type; None for integers, NaN and infinities."""
        if self.result.dtype.kind in "iu" or not np.isfinite(self.largest_difference):
            return None
        return max(
            ulps_between(result[wrong], reference[wrong])
            for result, reference, wrong in parts(self.result, self.reference, self.mask)
        )

    @property
    def extent(self) -> dict[str, Any]:
        """The number of wrong cells, and the largest difference, as data."""
        extent = {"wrong": self.count, "of": self.total, "difference": str(self.largest_difference)}
        return extent if self.largest_ulps is None else {**extent, "ulps": self.largest_ulps}

    def rows(self, limit: int = 10) -> list[dict[str, Any]]:
        """Return the first wrong cells as data: coordinates, the result's number and the reference's."""
        return [
            {"at": list(cell), "result": number(self.result[cell]), "reference": number(self.reference[cell])}
            for cell in self.first(limit)
        ]


def compare(result: Array, reference: Array, outside: NDArray[np.bool_] | None = None) -> Comparison:
    """Compare two arrays of the same shape and type bit for bit, or by the cells that are outside their bounds."""
    ours, theirs = bits_of(result), bits_of(reference)
    if ours.shape != theirs.shape or ours.dtype != theirs.dtype:
        raise ValueError(f"shapes {ours.shape} {result.dtype} and {theirs.shape} {reference.dtype} do not compare")
    if outside is not None:
        return Comparison(result, reference, result.size, int(np.count_nonzero(outside)), outside)
    count = 0 if np.array_equal(ours, theirs) else int(np.count_nonzero(ours != theirs))
    return Comparison(result, reference, result.size, count)


def number(value: Any) -> float | int | str:
    """Return a number for JSON, which has no NaN and no infinity: those are returned as text."""
    number = float(value)
    if not np.isfinite(number):
        return str(number)
    whole = number.is_integer() and abs(number) < 2**53 and not (number == 0 and np.signbit(number))
    return int(number) if whole else number


@dataclass(frozen=True, eq=False)
class OutputExpectation:
    """The results that the outputs of runs are held to, and what is known of how they come about."""

    problem: Problem
    inputs: Mapping[str, HostTensor]
    reference: Reference
    tile: tuple[int, int, int] | None
    rules: Sequence[Rule] = ()
    """A user's rules of diagnosis."""

    def output(self, run: LaunchResult, role: str) -> Array:
        """Return an output in logical order: the reference's cells where the run left the same."""
        return run.results.get(role, self.reference.tensors[role]).logical

    def comparison(self, run: LaunchResult, role: str) -> Comparison:
        """Compare an output with its reference, by bits or as its judge decides."""
        result, judge = self.output(run, role), self.reference.judges.get(role)
        outside = None if judge is None else judge.outside(result)
        return compare(result, self.reference.tensors[role].logical, outside)

    def wrong(self, run: LaunchResult) -> list[str]:
        """Return the outputs that a run has wrong, once its judges have settled it (``Reference.settle``)."""
        return [role for role in self.problem.outputs if role in run.results]


@dataclass(frozen=True, eq=False)
class Judgement:
    """An outcome of comparing runs with their reference, and its reason.

    ``run`` and ``role`` name the output that the diagnosis is about. ``digest`` is that of the outputs; it is empty if
    the run was harmed, or if bits decide no output.
    """

    outcome: Outcome
    run: LaunchResult
    reason: str = ""
    digest: str = ""
    diagnosis: Diagnosis | None = None
    role: str = ""

    @property
    def text(self) -> str:
        return f"{self.outcome}: {self.reason}" if self.reason else str(self.outcome)


def judge_harm(run: LaunchResult) -> Judgement | None:
    """Return the judgement of a run that crashed, or that wrote outside its buffers, as the device reports; None if
    neither."""
    outcome = Outcome.CORRUPTED if run.damage else Outcome.CRASHED
    sentence = run.damage or run.crash
    return Judgement(outcome, run, sentence, diagnosis=diagnose_harm(run, sentence)) if sentence else None


def judge_outputs(
    expectation: OutputExpectation, runs: Sequence[LaunchResult], foresee: Callable[[Judgement], None] | None = None
) -> Judgement:
    """Return PASS, MISMATCH, or NONDETERMINISTIC where two runs differ and bits decide; none of the runs was harmed.

    ``foresee`` receives a judgement that is not PASS before its diagnosis is made, which may take longer.
    """
    differ = _first_difference(expectation, runs)
    role = differ or next((role for run in runs for role in expectation.wrong(run)), "")
    run = next((run for run in runs if role in run.results), runs[0])
    digest = expectation.reference.digest_with(expectation.problem, run.results)
    if not role:
        return Judgement(Outcome.PASS, run, digest=digest)
    other = next(one for one in runs if one is not run) if differ else None
    outcome = Outcome.NONDETERMINISTIC if differ else Outcome.MISMATCH
    comparison = expectation.comparison(run, role)
    if foresee is not None:
        name = expectation.problem.operation.diagnostics.names(expectation.problem)[role]
        foresee(_undiagnosed(outcome, run, role, comparison, digest, name))
    diagnosis = _diagnosis(expectation, run, role, other, comparison)
    return Judgement(outcome, run, diagnosis.sentence, digest, diagnosis, role)


def _undiagnosed(
    outcome: Outcome, run: LaunchResult, role: str, comparison: Comparison, digest: str, name: str
) -> Judgement:
    """Return the judgement that is known without a diagnosis, of the output that people call ``name``."""
    sentence = f"{comparison.count} of {comparison.total} cells of {name} are wrong"
    evidence = {"run": run.config.description, "extent": comparison.extent, "first_wrong_cells": comparison.rows()}
    return Judgement(outcome, run, sentence, digest, Diagnosis(("other",), sentence, evidence), role)


def _first_difference(expectation: OutputExpectation, runs: Sequence[LaunchResult]) -> str:
    """Return the first output in which two launches differ where bits decide; empty if there is none."""
    if len(runs) < 2:
        return ""
    first, second = runs[:2]
    for role in expectation.problem.outputs:
        is_asked = role not in expectation.reference.judges and (role in first.results or role in second.results)
        if (
            is_asked
            and not compare(expectation.output(first, role), _without_poison(expectation, first, second, role)).equal
        ):
            return role
    return ""


def _without_poison(expectation: OutputExpectation, run: LaunchResult, other: LaunchResult, role: str) -> Array:
    """Return the other run's output, with this run's cells wherever the two differ because of their poison.

    Two launches begin with two poisons. A cell that neither run wrote differs for that reason alone, and so does a cell
    that is NaN with the first poison and wrong with the second: neither is a race.
    """
    here, there = expectation.output(run, role), expectation.output(other, role)
    if run.config.poison == other.config.poison:
        return there
    reference = expectation.reference.tensors[role]
    dtype = reference.tensor.dtype
    own = dtype.bits.type
    same = (bits_of(here) == own(poison_bits(dtype, run.config.poison))) & (
        bits_of(there) == own(poison_bits(dtype, other.config.poison))
    )
    if dtype.is_float:
        expected = reference.logical
        first, second = (here, there) if run.config.poison == 0 else (there, here)
        read = np.isnan(first) & ~np.isnan(expected) & (bits_of(second) != bits_of(expected))
        same |= read
    return np.where(same, here, there)


def _diagnosis(
    expectation: OutputExpectation, run: LaunchResult, role: str, other: LaunchResult | None, comparison: Comparison
) -> Diagnosis:
    """Diagnose one output of a run; ``other`` is the run that it differs from."""
    dtype = expectation.reference.tensors[role].tensor.dtype
    scene = Scene.thinned(
        expectation.problem,
        comparison.result,
        comparison.reference,
        output=role,
        outside=comparison.mask,
        poison=poison_bits(dtype, run.config.poison),
        inputs={name: host.logical for name, host in factors(expectation.problem, dict(expectation.inputs)).items()},
        tile=expectation.tile,
        other_run=None if other is None else _without_poison(expectation, run, other, role),
        runs=(run.config.description, "" if other is None else other.config.description),
        exact=expectation.reference.kind in ("exact", "gpu") or not dtype.is_float,
        slices=0 if run.record is None else int(run.record.summary().get("split_k", 0)),
        ordered=expectation.reference.kind == "ordered",
        operands={name: host.logical for name, host in expectation.inputs.items()},
    )
    diagnosis = diagnose(scene, expectation.rules)
    if "never_written" in diagnosis.kinds and _launched_nothing(run):
        diagnosis = replace(diagnosis, sentence=f"no kernel was launched: {diagnosis.sentence}")
    evidence = {
        **diagnosis.evidence,
        **_output_evidence(expectation, run, role),
        "run": run.config.description,
        "largest_difference": str(comparison.largest_difference),
        "extent": comparison.extent,
        "first_wrong_cells": comparison.rows(),
    }
    return replace(diagnosis, evidence=evidence)


def _launched_nothing(run: LaunchResult) -> bool:
    """Return whether neither the record nor the runtime knows of a launch."""
    seen = any(work.kind == KERNEL for work in run.seen or ())
    return run.record is not None and run.record.launches == 0 and not run.record.events and not seen


def _output_evidence(expectation: OutputExpectation, run: LaunchResult, role: str) -> dict[str, Any]:
    """Return which output is diagnosed and which others are wrong; empty where there is only one."""
    if len(expectation.problem.outputs) == 1:
        return {}
    others = [name for name in expectation.wrong(run) if name != role]
    return {"output": role} | ({"wrong_too": others} if others else {})


def diagnose_harm(run: LaunchResult, sentence: str) -> Diagnosis:
    """Return the diagnosis of a run that the device's own report explains."""
    evidence: dict[str, object] = {"run": run.config.description}
    if run.changes:
        evidence["process"] = run.changes
    if run.fault is not None:
        fault = run.fault
        evidence["fault"] = {
            "kind": fault.kind,
            "kernel": fault.kernel,
            "block": list(fault.block),
            "thread": list(fault.thread),
            "buffer": fault.buffer,
            "offset": fault.offset,
            "size": fault.buffer_size,
        }
    kind = "race" if run.fault is not None and run.fault.kind == "race" else "other"
    return Diagnosis((kind,), sentence, evidence)
