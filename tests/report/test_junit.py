"""Every verdict becomes the one JUnit element that says the same, in XML that any reader takes."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest
import xmlschema
from hypothesis import given
from hypothesis import strategies as st
from junitparser import JUnitXml

from bitgate.core import paths
from bitgate.results.record import UNKNOWN, Diagnosis, Outcome, Verdict
from bitgate.results.report.junit import BUDGET, document, write
from bitgate.results.report.ledger import AttemptEntry, Ledger
from bitgate.results.report.render import render
from bitgate.results.report.text import LIMIT, capped, legal

Make = Callable[..., Verdict]
STARTED = "2026-01-02T03:04:05+00:00"


class Schemas:
    """Ours, and that of Jenkins: what meets the one meets the other."""

    def __init__(self) -> None:
        self.both = [xmlschema.XMLSchema(paths.data_folder("reports") / name) for name in ("junit.xsd", "jenkins.xsd")]

    def validate(self, file: str) -> None:
        for schema in self.both:
            schema.validate(file)


@pytest.fixture(scope="session")
def schema() -> Schemas:
    return Schemas()


def _ledger(*verdicts: Verdict) -> Ledger:
    return Ledger("host", "smoke", tuple(AttemptEntry(verdict) for verdict in verdicts), started=STARTED)


# outcome, expected by the plan, reason -> element and type; no element: passed.
OUTCOMES = [
    (Outcome.PASS, False, "", None),
    (Outcome.MISMATCH, False, "", ("failure", "Mismatch")),
    (Outcome.NONDETERMINISTIC, False, "", ("failure", "Nondeterministic")),
    (Outcome.CORRUPTED, False, "guard zone behind dx", ("failure", "Corrupted")),
    (Outcome.BUILD_FAILED, False, "error: no member", ("failure", "CompileError")),
    (Outcome.REFUSED, False, "clause vector_k: 7 % 8", ("failure", "Refused")),
    (Outcome.REFUSED, True, "clause vector_k: 7 % 8", None),
    (Outcome.CRASHED, False, "worker ended by SIGSEGV", ("error", "WorkerCrash.SIGSEGV")),
    (Outcome.CRASHED, False, "out of bounds by 1 element", ("error", "Crash")),
    (Outcome.HUNG, False, "", ("error", "Timeout")),
    (Outcome.LOST, False, "", ("error", "Lost")),
    (Outcome.INFRA, False, "device lost", ("error", "DeviceLost")),
    (Outcome.INFRA, False, "host out of memory", ("error", "HostOom")),
    (Outcome.NOT_RUN, False, "the run was interrupted", ("error", "Interrupted")),
    (Outcome.NOT_RUN, True, "needs gfx950", ("skipped", "unsupported")),
    (Outcome.KNOWN_BUG, False, "RL#7732, until 2027", ("skipped", "quarantined")),
]


@pytest.mark.parametrize(("outcome", "expected", "reason", "element"), OUTCOMES)
def test_a_verdict_becomes_its_element(
    verdict: Make, outcome: Outcome, expected: bool, reason: str, element: tuple[str, str] | None
) -> None:
    one = verdict(outcome, expected=expected, reason=reason)
    (suite,) = document(_ledger(one, verdict(case="other")))
    results = next(iter(suite)).result
    assert [(r._elem.tag, r.type) for r in results] == ([element] if element else [])


def test_every_red_outcome_has_an_element() -> None:
    assert {one for one in Outcome if one.facts.type} == set(Outcome) - {Outcome.KNOWN_BUG}


def test_a_red_case_tells_what_is_wrong_and_how_to_see_it_again(dropped: Verdict) -> None:
    (suite,) = document(_ledger(dropped))
    (failure,) = next(iter(suite)).result
    assert dropped.diagnosis
    assert failure.message == dropped.diagnosis.sentence
    assert f"repeat: {dropped.repro}" in failure.text
    assert "missing_sub_gemm" in failure.text


def test_suite_class_and_test_are_named_for_dashboards(verdict: Make) -> None:
    one = verdict(target="gfx942")
    (suite,) = document(_ledger(one))
    case = next(iter(suite))
    assert suite.name == "bitgate.conv_bwd_data.gfx942"
    assert case.classname == "bitgate.gfx942.conv_bwd_data.test_correctness"
    assert case.name == one.test.partition("::")[2]


def test_a_verdict_from_the_command_line_gets_its_pytest_id(verdict: Make) -> None:
    by_pytest, by_hand = verdict(), verdict(test="", suite="")
    (_, suite) = document(_ledger(by_pytest, by_hand))
    assert next(iter(suite)).name == by_pytest.test.partition("::")[2].replace("test_correctness", "verify")


def test_a_case_verified_in_several_ways_keeps_several_names(verdict: Make, dropped: Verdict) -> None:
    (suite,) = document(_ledger(verdict(), dropped, verdict(schedule="random:7")))
    names = [case.name for case in suite]
    assert len(set(names)) == 3
    assert all(re.fullmatch(r"test_correctness\[[a-z0-9_]+\]", name) for name in names)


def test_the_suite_says_what_it_ran_on(verdict: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GITHUB_SHA", "c0ffee")
    stated = {
        "runtime": "ROCm 7.1.0, HIP 7.1.25424",
        "host": "n1",
        "driver": "6.12.12",
        "commit": UNKNOWN,
        "guards": "both",
    }
    (suite,) = document(_ledger(verdict(fingerprint={}), verdict(case="b", fingerprint=stated)))
    properties = {p.name: p.value for p in suite.properties()}
    assert properties["gpu.target"] == "host"
    assert properties["device.kind"] == "cpu"
    assert properties["run.tier"] == "smoke"
    assert (properties["rocm.version"], properties["hip.version"]) == ("7.1.0", "7.1.25424")
    assert (properties["host.name"], suite.hostname, properties["driver.version"]) == ("n1", "n1", "6.12.12")
    assert properties["vcs.commit"] == "c0ffee"
    assert (properties["shard.index"], properties["shard.count"]) == ("1", "1")
    assert properties["fingerprint.guards"] == "both"


def test_a_run_that_compared_nothing_is_red_in_junit_too(verdict: Make) -> None:
    for ledger in (_ledger(), _ledger(verdict(Outcome.NOT_RUN, expected=True, reason="needs gfx950"))):
        xml = document(ledger)
        assert xml.errors == 1
        assert [r.type for suite in xml for case in suite for r in case.result][-1] == "NothingCompared"


def test_times_are_fixed_point_and_the_totals_are_their_sums(verdict: Make, tmp_path: Path) -> None:
    write(
        document(_ledger(verdict(seconds={"total": 0.00001}), verdict(case="b", seconds={"total": 2.5}))),
        tmp_path / "j.xml",
    )
    text = (tmp_path / "j.xml").read_text()
    assert 'time="0.000"' in text
    assert "e-05" not in text
    assert JUnitXml.fromfile(str(tmp_path / "j.xml")).time == pytest.approx(2.5, abs=1e-3)


@given(
    texts=st.lists(st.text(), min_size=3, max_size=3),
    outcomes=st.lists(st.sampled_from(list(Outcome)), min_size=1, max_size=6),
    seeds=st.lists(st.integers(0, 3), min_size=6, max_size=6, unique=False),
)
def test_any_text_and_outcomes_give_a_document_of_the_schema(
    verdict: Make,
    schema: Schemas,
    tmp_path_factory: pytest.TempPathFactory,
    texts: list[str],
    outcomes: list[Outcome],
    seeds: list[int],
) -> None:
    reason, human, device = texts
    verdicts = {
        (seed, outcome): verdict(
            outcome, case=outcome.value.lower(), seed=seed, reason=reason, human=human, device_name=device
        )
        for outcome, seed in zip(outcomes, seeds, strict=False)
    }
    file = tmp_path_factory.mktemp("junit") / "junit.xml"
    write(document(_ledger(*verdicts.values())), file)
    schema.validate(str(file))
    xml = JUnitXml.fromfile(str(file))
    red = [one for one in verdicts.values() if not one.green]
    silent = not any(one.compared for one in verdicts.values())
    assert xml.failures + xml.errors == len(red) + silent


def test_an_interrupted_run_still_gives_a_valid_file(
    verdict: Make, run_folder: Callable[..., Path], schema: Schemas
) -> None:
    folder = run_folder("out", verdict(), planned=[verdict(), verdict(case="never_reached")])
    with (folder / "results.jsonl").open("a") as stream:
        stream.write('{"schema": 1, "plan": "p')
    render(folder, tier="smoke", target="host", interrupted=True)
    schema.validate(str(folder / "junit.xml"))


@given(st.text(st.characters()))
def test_legal_text_survives_and_illegal_characters_do_not(text: str) -> None:
    clean = legal(text)
    assert len(clean) == len(text)
    assert legal(clean) == clean
    assert not re.search("[\x00-\x08\x0b\x0c\x0e-\x1f\ud800-\udfff\ufffe\uffff]", clean)


@given(st.text(max_size=300), st.integers(60, 200))
def test_long_output_keeps_head_and_tail_within_the_limit(text: str, limit: int) -> None:
    text = legal(text)
    short = capped(text, limit)
    assert len(short.encode()) <= max(limit, 0)
    if len(text.encode()) <= limit:
        assert short == text
    else:
        assert short[:3] == text[:3]  # of four bytes each at most
        assert short[-3:] == text[-3:]
        assert "bytes left out" in short


def test_output_is_at_most_64_kibibytes(verdict: Make) -> None:
    dispatch = {f"event{n}": "x" * 3000 for n in range(100)}
    (suite,) = document(_ledger(verdict(Outcome.MISMATCH, dispatch=dispatch)))
    assert len(next(iter(suite)).system_out.encode()) <= LIMIT == 65536


def test_nothing_is_printed_for_what_passed(verdict: Make, tmp_path: Path) -> None:
    """29,621 verdicts gave 37 MB."""
    passed = [verdict(), verdict(Outcome.REFUSED, case="b", expected=True, reason="vector_k: 7 % 8")]
    write(document(_ledger(*passed)), tmp_path / "junit.xml")
    lines = [line for line in (tmp_path / "junit.xml").read_text().splitlines() if "<testcase" in line]
    assert len(lines) == 2
    assert all(line.endswith("/>") and len(line) < 350 for line in lines)


def test_a_failure_has_file_and_line_and_shows_its_first_cells(dropped: Verdict) -> None:
    (suite,) = document(_ledger(dropped))
    (failure,) = next(iter(suite)).result
    assert suite._elem.get("file") == "suites/conv_bwd_data/cases.toml"
    assert re.search(r" [^ ]*suites/conv_bwd_data/cases\.toml.*?:17", failure.text)
    lines = failure.text.splitlines()
    assert [line for line in lines if "instead of" in line] == [
        f"g 0, n 0, c 0, h 0, w {w}: 0 instead of {12 + w}" for w in range(1, 11)
    ]


def test_a_night_of_reds_stays_below_what_dashboards_take(verdict: Make, tmp_path: Path) -> None:
    long = Diagnosis(("other",), "s" * 5000, {"first_wrong_cells": [{"at": ["x" * 5000]}] * 50})
    reds = [verdict(Outcome.MISMATCH, seed=seed, diagnosis=long, reason="r" * 10**5) for seed in range(1200)]
    write(document(_ledger(*reds)), tmp_path / "junit.xml")
    assert (tmp_path / "junit.xml").stat().st_size < BUDGET + 1200 * 1200
    (suite,) = JUnitXml.fromfile(str(tmp_path / "junit.xml"))
    assert all(next(iter(case.result)).message for case in suite)
    assert all(" at suites/conv_bwd_data/cases.toml:17" in next(iter(case.result)).text for case in suite)


ODD = st.text(st.characters(), max_size=30) | st.sampled_from(
    ["]]>", "<!--", "\x00\x1b[31m", "\ud800", "x" * 100_000, "|`\n#"]
)


@given(st.lists(ODD, min_size=9, max_size=9), st.floats())
def test_odd_texts_and_numbers_in_any_field_meet_both_schemas(
    verdict: Make, schema: Schemas, tmp_path_factory: pytest.TempPathFactory, odd: list[str], seconds: float
) -> None:
    suite, target, case, test, reason, sentence, row, repro, host = odd
    red = verdict(
        Outcome.MISMATCH,
        suite=suite,
        target=target,
        case=case,
        test=f"a/{test}::{test}",
        reason=reason,
        row=row,
        repro=repro,
        seconds={"total": seconds},
        fingerprint={"host": host, host: "x"},
        diagnosis=Diagnosis((sentence,), sentence, {"first_wrong_cells": [{"at": odd}, sentence, {"at": None}]}),
        view={"axes": sentence},
    )
    folder = tmp_path_factory.mktemp("odd")
    write(document(_ledger(red)), folder / "junit.xml")
    schema.validate(str(folder / "junit.xml"))


def test_jenkins_schema_refuses_what_jenkins_refuses(schema: Schemas) -> None:
    whole = '<testsuite name="s" tests="1" failures="0" errors="0"><testcase name="t"{}>{}</testcase></testsuite>'
    good = [("", ""), (' time="1.234"', ""), (' time="1,234.5"', ""), ("", "<system-out>x</system-out>")]
    bad = [(' time="1.2345"', ""), (' time="1e-05"', ""), (' file="x"', ""), (' line="1"', ""), ("", "<properties/>")]
    for parts in good + bad:
        assert schema.both[1].is_valid(whole.format(*parts)) == (parts in good), parts
