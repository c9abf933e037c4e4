"""The order in which repairs are printed, the cases that a search begins with, and a judge that does not diagnose."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest

from bitgate.core.errors import UsageError
from bitgate.results.record import Key, Outcome, Verdict
from bitgate.tools.faults.locate import undiagnosed
from bitgate.tools.faults.locate.candidate import Localization, RepairCandidate
from bitgate.tools.faults.locate.given import red_cases
from bitgate.tools.faults.locate.repairs import repair_makers
from bitgate.tools.faults.locate.scope import Members
from bitgate.tools.faults.locate.search import interleaved
from bitgate.tools.faults.mutation.operators import mutants_of
from bitgate.tools.faults.mutation.schema import ATTRIBUTED, SYNCHRONIZED, behind_switch
from bitgate.tools.faults.mutation.trial import MeasuredCase

RED = Verdict(Key("c", "k", "only", (), "exact", 0, "forward", "host"), Outcome.MISMATCH, reason="3 of 4 are wrong")
MUTANTS = mutants_of("int f(int a, int b) {\n  if (a < b) return a;\n  return a + b;\n}", "k.hpp").mutants
BY_TEXT = {one.mutated: one for one in MUTANTS}


def _candidate(mutated: str, **counts: Any) -> RepairCandidate:
    counts = {"is_confirmed": True, "reds": 4, "passed": 4, "greens": 4, "broken": 0, **counts}
    return RepairCandidate(BY_TEXT[mutated], counts.pop("suspicion", 0.5), **counts)


def _first(*candidates: RepairCandidate) -> str:
    return Localization(candidates=list(candidates)).lines()[0][0].mutant.mutated


@pytest.mark.parametrize(
    "later",
    [
        _candidate("a <= b", passed=3),
        _candidate("a <= b", broken=1),
        _candidate("a <= b", suspicion=0.9),  # another path may only lead around the defect
        _candidate("a <= b", is_confirmed=False),
    ],
)
def test_what_turns_more_cases_green_and_breaks_fewer_comes_first(later: RepairCandidate) -> None:
    assert _first(later, _candidate("a - b")) == "a - b"


def test_a_line_is_printed_once_with_its_best_edit() -> None:
    found = Localization(candidates=[_candidate("true", broken=2), _candidate("a <= b"), _candidate("a - b")])
    assert [(one.mutant.mutated, others) for one, others in found.lines()] == [("a - b", 0), ("a <= b", 1)]
    assert found.as_json(1)["candidates"] == [{**_candidate("a - b").as_json(), "others_of_line": 0}]


def test_each_edit_has_a_line_that_no_source_has() -> None:
    text = "int f(int a) {\n  return a + a;\n}"
    schema = behind_switch(text, dict(enumerate(mutants_of(text, "k").mutants, 1)), attributed=True)
    assert schema == (
        f"int f(int a) {{\n  return (\n#line {ATTRIBUTED + 1}\nBITGATE_MUTANT(1) ? (a - a) :\n#line 2\n(a + a));\n}}"
    )


def test_a_judge_ends_where_a_diagnosis_would_begin(monkeypatch: pytest.MonkeyPatch) -> None:
    def verify(planned: object, session: Any) -> Verdict:
        session.foresee(RED)
        raise AssertionError("it is diagnosed")

    def foresee(verdict: Verdict) -> None: ...

    session: Any = SimpleNamespace(foresee=foresee)
    monkeypatch.setattr(undiagnosed, "verify", verify)
    planned: Any = None
    assert undiagnosed.verify_undiagnosed(planned, session) is RED
    assert session.foresee is foresee


class _Family(SimpleNamespace):
    def only(self, group: str) -> Any:
        return group


def _measured(case: str, group: str, seconds: float, outcome: Outcome = Outcome.MISMATCH) -> MeasuredCase:
    kernel = SimpleNamespace(instance=SimpleNamespace(group=group))
    question: Any = SimpleNamespace(planned=SimpleNamespace(case=case, kernel=kernel))
    return MeasuredCase(question, replace(RED, outcome=outcome), seconds)


def test_one_group_of_instances_is_built_if_it_has_all_red_cases() -> None:
    family: Any = _Family()
    plain = [_measured("one", "f16", 2.0), _measured("one", "f32", 1.0), _measured("two", "f16", 1.0)]
    part: Any
    part, reds = red_cases(family, [*plain, _measured("two", "f32", 1.0, Outcome.PASS)])
    assert (part, reds) == ("f16", [plain[2], plain[0]])
    part, reds = red_cases(family, [plain[1], plain[2]])
    assert (part, reds) == (family, [plain[1], plain[2]])


def test_sources_that_do_not_compile_have_no_line_to_locate() -> None:
    family: Any = _Family()
    with pytest.raises(UsageError, match="3 of 4 are wrong"):
        red_cases(family, [_measured("one", "f16", 1.0, Outcome.BUILD_FAILED)])


def test_a_barrier_is_put_in_as_a_statement() -> None:
    text = "void f(int a) { __syncthreads(); if (a) g(); }"
    found = mutants_of(text, "k", makers=repair_makers(Members([]))).mutants
    [barrier] = [one for one in found if one.operator == SYNCHRONIZED]
    schema = behind_switch(text, {5: barrier}, attributed=True)
    put_in = "{ if (BITGATE_MUTANT(5)) { __syncthreads(); g(); } else { g(); } }"
    assert schema == f"void f(int a) {{ __syncthreads(); if (a) {put_in} }}"


def test_each_suspicious_line_has_its_turn() -> None:
    lines = {("k.hpp", 2): 0.5, ("k.hpp", 3): 0.5}
    order = [one.line for one in interleaved(MUTANTS, lines)]
    assert order[:3] == [2, 3, 2], "line 3 has one edit alone"
    order = [one.line for one in interleaved(MUTANTS, {**lines, ("k.hpp", 3): 0.7})]
    assert order[0] == 3
