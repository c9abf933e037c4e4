"""A cause has one id everywhere, an issue says all of it, and a ledger's entry is as narrow as the failures."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import replace
from datetime import date
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from markdown_it import MarkdownIt
from tests.report.views import founding, view

from bitgate.cli.main import run
from bitgate.core.errors import UsageError
from bitgate.results.record import Diagnosis, Outcome, Verdict
from bitgate.results.report.cause import cause_of
from bitgate.results.report.issue import LIMIT, capsule_line, issue_text
from bitgate.suite.known_bug_entry import Excuse, add_entries, combined
from bitgate.suite.known_bugs import read

Make = Callable[..., Verdict]
Folder = Callable[..., Path]
ANN = Excuse("ann@lab", "LAB#1", date(2999, 12, 31))
CASES = [f"bwd_data_f16_nhwgc_g1n{n}k128c64_y3x3_h28x28_s3x3_d1x1_p1x1_q1x1" for n in (1, 2, 3)]


@pytest.fixture(scope="session")
def bug(dropped: Verdict) -> Verdict:
    return replace(
        dropped, view=view(founding(set(range(1, 9))), "gnchw"), foreign="ckProfiler grouped_conv_bwd_data 1"
    )


def _of(verdict: Verdict, **changes: Any) -> Verdict:
    return replace(verdict, key=replace(verdict.key, **changes))


def test_a_cause_has_one_id_in_every_report(bug: Verdict, run_folder: Folder, tmp_path: Path, said: Any) -> None:
    night = run_folder("night", bug, _of(bug, target="gfx942", seed=3))
    found = cause_of(bug).id
    assert found == cause_of(_of(bug, target="gfx942", seed=3, case=CASES[0])).id
    assert found != cause_of(_of(bug, kernel="naive_conv")).id
    report = said(
        "report", night, "--out", tmp_path / "m", "--html", tmp_path / "p.html", "--junit", "jenkins", "--json"
    )
    assert {one["cause"] for one in report["summary"]["reds"]} == {found}
    assert found in (tmp_path / "p.html").read_text()
    assert found in (tmp_path / "m" / "junit.xml").read_text()
    (tmp_path / "empty").mkdir()
    (new,) = {one["cause"] for one in said("triage", night, "--against", night, "--json", code=0)["triage"]["known"]}
    assert new == found


@pytest.fixture
def said(capsys: pytest.CaptureFixture[str]) -> Any:
    """What a command prints, read if it is JSON."""

    def command(*arguments: object, code: int = 1) -> Any:
        capsys.readouterr()
        assert run([*map(str, arguments)]) == code
        printed = capsys.readouterr().out
        return json.loads(printed) if "--json" in arguments else printed

    return command


def test_an_issue_says_what_is_needed_to_begin(bug: Verdict, run_folder: Folder, said: Any) -> None:
    on_gpu = replace(_of(bug, target="gfx942", seed=3), where={"node": "node-17", "job": "4711"})
    night = run_folder("night", on_gpu, _of(on_gpu, case=CASES[0]))
    text = said("triage", night, "--against", run_folder("before", _of(bug, case="x")), "--issue", code=0)
    assert text.startswith("# MISMATCH (missing\\_sub\\_gemm): grouped\\_bwd\\_data: sub-GEMMs 1 to 8 of 9 never ran")
    assert f"    {on_gpu.repro}\n" in text
    assert "    path = grouped\n    gemms_count = 9\n" in text
    assert f"    bitgate capsule write {on_gpu.key.case} --target gfx942 --kernel grouped_bwd_data.t64x64x32" in text
    assert f"--option flat_path_gate=off --seed 3 --out bug-{cause_of(bug).id}\n" in text
    assert "    g 0, n 0 to 3: h 28 down, w 28 across; c 64 folded: zero 179968\n    " in text
    assert "| state | new |" in text
    assert "| ran on | node-17, job 4711 |" in text
    assert "2 in all: 2 on gfx942" in text


def test_a_capsule_is_of_a_gpus_target(bug: Verdict) -> None:
    assert capsule_line(bug) == ""
    assert "--fill special" in capsule_line(_of(bug, target="gfx90a", fill="special"))


ODD = st.text(st.characters(), max_size=30) | st.sampled_from(
    ["</script><script>", "```\n# x", "|a|", "x" * 10**5, "\x1b[31m", "![x](http://x)", "`", "$(reboot)", "'; reboot"]
)


@settings(max_examples=20)
@given(st.lists(ODD, min_size=7, max_size=7))
def test_an_issue_of_hostile_texts_is_inert_and_bounded(bug: Verdict, odd: list[str]) -> None:
    case, kernel, kind, sentence, path, node, option = odd
    hostile = replace(
        _of(bug, case=case, kernel=kernel, target=f"gfx{node}", options=((option, option),)),
        diagnosis=Diagnosis((kind,), sentence),
        dispatch={"path": path, path: 1},
        where={"node": node},
        repro=sentence,
        human="",
    )
    text = issue_text([hostile] * 30)
    assert len(text.encode()) <= LIMIT + 1
    tags: set[str] = set()
    reader = HTMLParser()
    reader.handle_starttag = lambda tag, attrs: tags.add(tag)  # type: ignore[method-assign]
    reader.feed(MarkdownIt("commonmark", {"html": True}).enable("table").render(text))
    assert not tags & {"script", "img", "a"}
    assert not re.search("[\x00-\x08\x1b\ud800-\udfff]", text)


def test_a_terminal_gets_no_control_characters(
    bug: Verdict, run_folder: Folder, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    odd = "\x1b]0;owned\x07\u202e\n::error::x" + "y" * 10**6
    night = run_folder("night", replace(bug, diagnosis=Diagnosis(("zero",), odd), repro=odd, reason=odd))
    (tmp_path / "foreign.xml").write_text(
        '<testsuite name="s"><testcase name="a\x9b\u202e"><failure/></testcase></testsuite>'
    )
    before = run_folder("before", _of(bug, case="x"))
    assert run(["triage", str(night), "--against", str(before)]) == 1
    assert run(["triage", str(night), "--against", str(before), "--issue"]) == 0
    arguments = ["--out", str(tmp_path / "m"), "--foreign-junit", str(tmp_path / "foreign.xml")]
    assert run(["report", str(night), *arguments]) == 1
    printed = capsys.readouterr()
    text = printed.out + printed.err
    assert "a\\x9b" in text
    assert not re.search("[\x00-\x08\x0b-\x1f\x80-\x9f\u202e]|^::", text, re.MULTILINE)
    assert len(text) < 40_000


def test_an_entry_is_about_the_failures_and_nothing_else(bug: Verdict, tmp_path: Path) -> None:
    one, two, three = CASES
    failures = [_of(bug, case=case, target=target) for case in (one, two) for target in ("gfx942", "gfx90a")]
    failures += [_of(bug, case=three, target="gfx942", fill="special")]
    assert {(group.cases, group.targets, group.fill) for group in combined(failures)} == {
        ((one, two), ("gfx90a", "gfx942"), "exact"),
        ((three,), ("gfx942",), "special"),
    }
    file = tmp_path / "known_bugs.toml"
    assert add_entries(file, failures, ANN) == 2
    first, second = read(file)
    assert (first.cases, first.targets) == (frozenset({one, two}), ("gfx90a", "gfx942"))
    assert (first.kernels, first.options) == (("grouped_bwd_data.t64x64x32",), {"flat_path_gate": ("off",)})
    assert (second.fills, second.owner, second.ticket, second.expires) == (("special",), *ANN)
    assert all(entry.records(bug) for entry in (first, second))


@given(
    st.lists(
        st.tuples(*map(st.sampled_from, (CASES, ["a", "b"], ["host", "gfx942"], ["exact", "special"]))), min_size=1
    )
)
def test_groups_hold_each_failure_once(dropped: Verdict, keys: list[tuple[str, ...]]) -> None:
    names = ("case", "instance", "target", "fill")
    groups = combined([_of(dropped, **dict(zip(names, key, strict=True))) for key in keys])
    held = [
        (case, kernel.rpartition(".")[2], target, group.fill)
        for group in groups
        for case in group.cases
        for kernel in group.kernels
        for target in group.targets
    ]
    assert sorted(held) == sorted(set(keys))


def test_a_ledger_keeps_what_it_has(bug: Verdict, tmp_path: Path) -> None:
    file = tmp_path / "known_bugs.toml"
    add_entries(file, [_of(bug, case=CASES[0])], ANN)
    before = file.read_text()
    add_entries(file, [_of(bug, case=CASES[1])], ANN)
    assert file.read_text().startswith(before)
    assert len(read(file)) == 2
    assert [path.name for path in tmp_path.iterdir()] == [file.name]


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"outcome": Outcome.INFRA}, "no failure of a kernel"),
        ({"known_bug": {"entry": "known_bugs.toml:3"}}, "known_bugs.toml:3 has an entry for its cases"),
        ({"diagnosis": None}, "kind"),
        ({"diagnosis": Diagnosis(("unheard_of",), "x")}, "kind"),
    ],
)
def test_what_no_entry_may_excuse_is_refused(bug: Verdict, tmp_path: Path, changes: dict[str, Any], words: str) -> None:
    file = tmp_path / "known_bugs.toml"
    with pytest.raises(UsageError, match=words):
        add_entries(file, [replace(bug, **changes)], ANN)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--issue"], "give --cause ID, one of "),
        (["--issue", "--cause", "77"], "--cause 77: name one of the causes: "),
        (["--cause", "77"], "say what to do with it"),
        (["--issue", "--json"], "--json: of the triage alone"),
        (["--owner", "ann"], "give --ledger FILE too"),
        (["--ledger", "k.toml", "--cause", "ID"], "give --owner, --ticket, --expires too"),
        (
            ["--ledger", "k.toml", "--cause", "ID", "--owner", "a", "--ticket", "b", "--expires", "soon"],
            "no date such as",
        ),
        (
            ["--ledger", "k.toml", "--cause", "ID", "--owner", "a", "--ticket", "b", "--expires", "2020-01-01"],
            "is past",
        ),
    ],
)
def test_wrong_requests_end_with_2(
    bug: Verdict,
    run_folder: Folder,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    arguments: list[str],
    words: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    night = run_folder("night", bug, _of(replace(bug, outcome=Outcome.CRASHED), case=CASES[0]))
    before = run_folder("before", _of(bug, case="x"))
    stated = [cause_of(bug).id if word == "ID" else word for word in arguments]
    assert run(["triage", str(night), "--against", str(before), *stated]) == 2
    assert words in capsys.readouterr().err
    assert not (tmp_path / "k.toml").exists()
