"""The command as users and scripts call it."""

import json
from pathlib import Path
from typing import Any

import pytest

from bitgate.cli.main import run
from bitgate.core import paths

TABLE = str(Path(__file__).parent / "data" / "ck_bwd_data_shapes.csv")


def test_json_holds_what_the_contract_names(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    arguments = ["coverage", "--cases", TABLE, "--where", "before_7732", "--assume", "numd=0", "--strength", "2"]
    assert run([*arguments, "--json", "--html", str(page)]) == 0
    document = json.loads(capsys.readouterr().out)
    assert 0 < document["covered"] < document["total"]
    first = document["uncovered"][0]
    assert {"factors", "rank", "words", "row"} <= set(first)
    assert [hole["rank"] for hole in document["uncovered"]] == list(range(1, len(document["uncovered"]) + 1))
    text = page.read_text()
    assert first["words"].replace(">", "&gt;") in text
    assert "gemms_count with split_n" in text or "gemms_count with bytes" in text


def test_text_says_the_holes_in_words(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["coverage", "--cases", TABLE, "--strength", "2", "--top", "3"]) == 0
    out = capsys.readouterr().out
    assert "25 cases cover" in out
    assert "closed by bwd_data_f16_" in out
    assert "left out, because the table does not state them: dtypes, layout, split_k, wei_layout" in out


def test_generate_writes_a_table_that_closes_the_rest(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    path = tmp_path / "rows.toml"
    common = ["--strength", "2", "--assume", "numd=0", "--assume", "gap=packed", "--assume", "ndim=2", "--json"]
    assert run(["coverage", "--cases", TABLE, "--generate", str(path), *common]) == 0
    generated = json.loads(capsys.readouterr().out)["generated"]
    assert generated["covered"] == generated["total"]
    assert path.read_text().count("[[case]]") == generated["rows"]


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ([], "name a table with --cases FILE"),
        (["--cases", "nowhere.csv"], "nowhere.csv: no such file"),
        (["--cases", TABLE, "--where", "era=never"], "no case found with era=never"),
        (["--cases", TABLE, "--where", "ear=x"], "no such column; known are id, ndim"),
        (["--cases", TABLE, "--assume", "gems_count=1"], "did you mean 'gemms_count'?"),
        (["--cases", TABLE, "--assume", "g=one"], "--assume g=one: no such class; known are 1, 2, >2"),
        (["--cases", TABLE, "--assume", "pass=fwd", "--assume", "pass=down"], "pass=down"),
        (["--cases", TABLE, "--strength", "5"], "--strength"),
    ],
)
def test_a_bad_command_line_ends_with_2_and_one_line(
    capsys: pytest.CaptureFixture[str], arguments: list[str], says: str
) -> None:
    assert run(["coverage", *arguments]) == 2
    assert says in capsys.readouterr().err


@pytest.mark.parametrize("suite", ["conv_bwd_data", "gemm"])
@pytest.mark.parametrize("assumed", ["numd=0", "in_op=pass,scale", "layout=nhwgc,rcr", "wei_op=scale", "gap=strided"])
def test_a_row_that_an_assumption_does_not_fit_is_left_out(suite: str, assumed: str, capsys: Any) -> None:
    table = str(paths.data_folder("suites") / suite / "cases.toml")
    code = run(["coverage", "--cases", table, "--assume", assumed, "--strength", "2", "--top", "1"])
    said = capsys.readouterr().err
    assert code == 0 or (code == 2 and said.startswith("bitgate: ") and said.count("\n") == 1), said
