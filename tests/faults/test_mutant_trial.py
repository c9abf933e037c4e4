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
from bitgate.tools.faults.mutation.campaign import Score, best
from bitgate.tools.faults.mutation.mutant import Mutant
from bitgate.tools.faults.mutation.operators import mutants_of
from bitgate.tools.faults.mutation.record import MutantRecord
from bitgate.tools.faults.mutation.schema import switch_of
from bitgate.tools.faults.mutation.sources import Population
from bitgate.tools.faults.mutation.trial import Fate, MutantTrial

MUTANTS = mutants_of("int f(int a, int b) { return a + b * 7; }", "k.hpp").mutants
VERDICT = Verdict(Key("c", "k", "only", (), "exact", 0, "forward", "host"), Outcome.PASS, digest="d" * 64, test="t::c")


def _trial(fate: Fate, mutant: Mutant = MUTANTS[0], family: str = "k") -> MutantTrial:
    return MutantTrial(mutant, family, fate, cases=3, by="t::c", verdict="MISMATCH", kinds=("zero",), seconds=0.5)


def test_only_mutants_that_a_case_reaches_count() -> None:
    score = Score([_trial(fate) for fate in (Fate.KILLED, Fate.KILLED, Fate.TIMEOUT, *Fate)])
    assert (score.killed, score.counted, score.value) == (5, 6, 5 / 6)
    assert Score([_trial(Fate.NOT_REACHED), _trial(Fate.NOT_COMPILABLE)]).value is None


@given(st.lists(st.sampled_from(Fate), min_size=1))
def test_of_several_families_one_kill_is_enough(fates: list[Fate]) -> None:
    fate = best([_trial(fate) for fate in fates]).fate
    assert fate in fates
    assert fate.is_kill == any(one.is_kill for one in fates)
    assert fate.counts == any(one.counts for one in fates)


def test_a_draw_is_fixed_by_its_seed_and_bounded_by_the_supply() -> None:
    pool = Population({mutant: ["k"] for mutant in MUTANTS})
    assert pool.drawn(2, 1) == pool.drawn(2, 1)
    assert len(pool.drawn(2, 1)) == 2
    assert pool.drawn(99, 1) == sorted(MUTANTS)


def test_a_record_gives_back_what_was_tried_of_these_mutants(tmp_path: Path) -> None:
    record = MutantRecord(tmp_path / "m.jsonl", "smoke", "host", "c0")
    assert record.known(MUTANTS) == {}
    killed, survived = _trial(Fate.KILLED), _trial(Fate.SURVIVED, MUTANTS[1], "other")
    record.add(killed)
    record.add(survived)
    assert record.known(MUTANTS) == {(MUTANTS[0], "k"): killed, (MUTANTS[1], "other"): survived}
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
