"""What a draw of mutants comes to, and what is kept of it."""

from __future__ import annotations

from ctypes import CDLL
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bitgate.core.errors import UsageError
from bitgate.results.record import Key, Outcome, Verdict
from bitgate.tools.faults.mutation.baseline import check_same
from bitgate.tools.faults.mutation.campaign import shares
from bitgate.tools.faults.mutation.mutant import CONDITIONAL, Mutant
from bitgate.tools.faults.mutation.operators import mutants_of
from bitgate.tools.faults.mutation.record import MutantRecord
from bitgate.tools.faults.mutation.score import Score
from bitgate.tools.faults.mutation.sources import Population
from bitgate.tools.faults.mutation.switch import switch_of
from bitgate.tools.faults.mutation.trial import Fate, MutantTrial
from bitgate.tools.faults.share import Share

MUTANTS = mutants_of("int f(int a, int b) { return a + b * 7; }", "k.hpp").mutants
VERDICT = Verdict(Key("c", "k", "only", (), "exact", 0, "forward", "host"), Outcome.PASS, digest="d" * 64, test="t::c")


def _trial(fate: Fate, mutant: Mutant = MUTANTS[0], family: str = "k") -> MutantTrial:
    return MutantTrial(mutant, family, fate, cases=3, by="t::c", verdict="MISMATCH", kinds=("zero",), seconds=0.5)


def test_only_mutants_that_a_case_reaches_count() -> None:
    score = Score([_trial(fate) for fate in (Fate.KILLED, Fate.KILLED, Fate.TIMEOUT, *Fate)])
    assert (score.killed.part, score.killed.whole, score.killed.value) == (5, 6, 5 / 6)
    assert Score([_trial(Fate.NOT_REACHED), _trial(Fate.NOT_SHOWN)]).killed.value is None


def test_a_survivor_that_no_case_shows_is_left_out_of_shown() -> None:
    hole = replace(_trial(Fate.SURVIVED), shown_by="bitgate verify case")
    score = Score([_trial(Fate.KILLED), _trial(Fate.SURVIVED), hole])
    assert (score.killed, score.shown) == (Share(1, 3), Share(1, 2))


def test_scores_are_by_family_and_class_of_operators() -> None:
    conditional = replace(MUTANTS[0], seed=1, condition="g > 2 and dtypes is f16")
    score = Score([_trial(Fate.KILLED), _trial(Fate.SURVIVED, conditional, "other")])
    assert {name: part.killed for name, part in score.by_family.items()} == {"k": Share(1, 1), "other": Share(0, 1)}
    assert set(score.by_operator) == {"arithmetic", CONDITIONAL}
    assert score.as_json()["by_operator"][CONDITIONAL]["score"] == 0


@pytest.mark.parametrize(
    ("part", "whole", "ends"),
    [(0, 0, (0.0, 1.0)), (0, 10, (0.0, 0.2775)), (10, 10, (0.7225, 1.0)), (45, 50, (0.7864, 0.9565))],
)
def test_a_share_has_its_wilson_interval(part: int, whole: int, ends: tuple[float, float]) -> None:
    assert Share(part, whole).interval == pytest.approx(ends, abs=5e-5)


@given(st.integers(1, 500), st.integers(1, 30))
def test_families_share_a_sample_evenly(sample: int, families: int) -> None:
    parts = shares(sample, families)
    assert (sum(parts), len(parts)) == (sample, families)
    assert max(parts) - min(parts) <= 1


def test_a_draw_is_fixed_by_its_seed_and_the_family() -> None:
    supply = Population({mutant: ["k", "other"] for mutant in MUTANTS})
    drawn = supply.candidates("k", 1)
    assert drawn == supply.candidates("k", 1)
    assert drawn != supply.candidates("k", 2)
    assert [mutant.edit for mutant in drawn] != [mutant.edit for mutant in supply.candidates("other", 1)]
    assert sorted(mutant.edit for mutant in drawn) == sorted([*MUTANTS, *MUTANTS])
    assert sum(mutant.is_conditional for mutant in drawn) == len(MUTANTS)
    assert supply.candidates("third", 1) == []


def test_classes_of_operators_restrict_a_draw() -> None:
    supply = Population({mutant: ["k"] for mutant in MUTANTS}, classes=frozenset({CONDITIONAL}))
    assert all(mutant.is_conditional for mutant in supply.candidates("k", 1))
    assert len(supply.candidates("k", 1)) == len(MUTANTS) == len(supply)


def test_a_record_gives_back_what_was_tried_of_these_mutants(tmp_path: Path) -> None:
    record = MutantRecord(tmp_path / "m.jsonl", "smoke", "host", "c0")
    assert record.known(MUTANTS) == {}
    candidate = replace(MUTANTS[1], seed=4)
    killed, survived = _trial(Fate.KILLED), _trial(Fate.SURVIVED, replace(candidate, condition="k > 3"), "other")
    record.add(killed)
    record.add(survived)
    known = record.known([*MUTANTS, candidate])
    assert known == {(MUTANTS[0], "k"): killed, (candidate, "other"): survived}
    assert record.known([replace(candidate, seed=5)]) == {}, "another seed draws another condition"
    assert record.known([replace(mutant, context="edited") for mutant in MUTANTS]) == {}


def test_a_line_that_was_cut_counts_for_nothing(tmp_path: Path) -> None:
    record = MutantRecord(tmp_path / "m.jsonl", "smoke", "host", "c0")
    record.add(_trial(Fate.KILLED))
    with record.path.open("a") as file:
        file.write('{"mutant": "')
    assert len(record.known(MUTANTS)) == 1


def test_a_record_of_another_tier_is_told(tmp_path: Path) -> None:
    MutantRecord(tmp_path / "m.jsonl", "smoke", "host", "c0").add(_trial(Fate.KILLED))
    with pytest.raises(UsageError, match="is of smoke host c0, and this run is of regression host c0"):
        MutantRecord(tmp_path / "m.jsonl", "regression", "host", "c0").known(MUTANTS)


@pytest.mark.parametrize("change", [{"digest": "e" * 64}, {"outcome": Outcome.MISMATCH}])
def test_a_mutant_library_that_differs_with_none_on_is_reported(change: dict[str, Any]) -> None:
    check_same(VERDICT, replace(VERDICT), "k")
    with pytest.raises(UsageError, match="k: t::c: PASS dddddddddddd by the plain library"):
        check_same(VERDICT, replace(VERDICT, **change), "k")


def test_a_library_without_a_mutant_has_no_switch() -> None:
    assert switch_of(CDLL(None)) is None
