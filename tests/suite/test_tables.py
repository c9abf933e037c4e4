"""Case tables: what a row means, and that a bad one is refused with file, line, row, field and remedy."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from bitgate.core.errors import UsageError
from bitgate.model import case_id
from bitgate.suite.expand import expand
from bitgate.suite.table import load_set, set_names

Write = Callable[..., Path]


@pytest.fixture
def write(tmp_path: Path) -> Write:
    def _write(text: str, name: str = "cases.toml") -> Path:
        path = tmp_path / name
        path.write_text(text)
        return path

    return _write


def ids(path: Path, set_name: str = "case") -> list[str]:
    return [case_id(candidate.problem) for row in load_set(path, set_name) for candidate in expand(row)]


ROW = '[[case]]\nname = "r"\nwhy = "w"\npass = "bwd_data"\ndtypes = "f16"\nshape = "n1k8c8_y3x3_h8x8"\n'


def test_a_row_is_a_case_id_in_parts(write: Write) -> None:
    assert ids(write(ROW)) == ["bwd_data_f16_nhwgc_g1n1k8c8_y3x3_h8x8_s1x1_d1x1_p0x0_q0x0"]


def test_lists_are_multiplied(write: Write) -> None:
    path = write(ROW.replace('"f16"', '["f32", "f16"]') + 'layouts = ["nhwgc", "gnhwc"]\nops = ["pass", "relu"]\n')
    assert len(ids(path)) == 8


def test_zip_runs_lists_in_lock_step(write: Write) -> None:
    path = write(ROW.replace('dtypes = "f16"', 'zip = { dtypes = ["f32", "f16"], layouts = ["nhwgc", "gnhwc"] }'))
    assert [case.split("_g1")[0] for case in ids(path)] == ["bwd_data_f32_nhwgc", "bwd_data_f16_gnhwc"]


def test_gaps_are_of_all_tensors_or_of_single_ones(write: Write) -> None:
    path = write(ROW + 'gap = [false, true, "inw8", "outw8_inh16"]\n')
    ends = [case.partition("_q0x0")[2] for case in ids(path)]
    assert ends == ["", "_gap", "_gapinw8", "_gapinh16_gapoutw8"]


def test_a_zip_wins_over_a_default(write: Write) -> None:
    path = write('[defaults]\ndtypes = "bf16"\n' + ROW.replace('dtypes = "f16"', 'zip = { dtypes = ["f32", "f16"] }'))
    assert [case.split("_")[2] for case in ids(path)] == ["f32", "f16"]


def test_defaults_hold_for_every_row(write: Write) -> None:
    path = write('[defaults]\nlayouts = "gnhwc"\n' + ROW + ROW.replace("n1k8", "n2k8"))
    assert all("_gnhwc_" in case for case in ids(path))


def test_lengths_instead_of_a_shape(write: Write) -> None:
    fields = "n = 1\nk = [8, 16]\nc = 8\nfilter = [3, 3]\ninput = [8, 8]\nleft_pad = [0, 1]\n"
    found = ids(write(ROW.replace('shape = "n1k8c8_y3x3_h8x8"\n', fields)))
    assert [case.split("_")[4] for case in found] == ["g1n1k8c8", "g1n1k16c8"]
    assert all("_p0x1_q0x1" in case for case in found)


def test_a_shape_takes_the_layouts_of_its_dimensions(write: Write) -> None:
    text = ROW.replace("shape = ", 'layouts = ["nwgc", "nhwgc", "ndhwgc"]\nshape = ["n1k8c8_y3_h8", ') + "]\n"
    assert [case.split("_")[3] for case in ids(write(text.replace('"\n]', '"]')))] == ["nwgc", "nhwgc"]


def test_a_whole_case_id_is_a_row_too(write: Write) -> None:
    case = "fwd_f32_gnhwc_g2n1k8c8_y3x3_h8x8_s1x1_d1x1_p1x1_q1x1_bias_gap"
    assert ids(write(f'[[case]]\nwhy = "w"\ncase = "{case}"\n')) == [case]


def test_an_include_brings_rows_and_overrides_their_settings(write: Write) -> None:
    write('[defaults]\npass = "fwd"\n[[shared]]\nname = "s"\nwhy = "w"\nshape = "n1k8c8_y3x3_h8x8"\n', "other.toml")
    path = write('[[case]]\ninclude = "other.toml#shared"\ndtypes = ["f32", "f16"]\n')
    assert [case[:7] for case in ids(path)] == ["fwd_f32", "fwd_f16"]
    (row,) = load_set(path)
    assert row.name == "s"
    assert row.origin.path.name == "other.toml"


def test_a_table_has_named_sets(write: Write) -> None:
    path = write(ROW + ROW.replace("[[case]]", "[[interface]]"))
    assert set_names(path) == ("case", "interface")
    assert len(ids(path, "interface")) == 1


@pytest.mark.parametrize(
    ("bad", "message"),
    [
        ('shpe = "x"', r"shpe: no such field; did you mean 'shape'"),
        ('tier = "smok"', r"tier: 'smok' is not one of smoke, regression"),
        ('tier = { cpu = "smoke" }', r"tier: 'cpu' is not one of host, gpu"),
        ('fills = "exakt"', r"fills: 'exakt' is not like exact or decimal"),
        ('layouts = "nhwcg"', r"layouts: unknown layout 'nhwcg'"),
        ('layouts = "ndhwgc"', r"layouts: none is 2D like the shape"),
        ("layouts = []", r"layouts: is an empty list"),
        ('ops = "addrelu"', r"shape: .*'addrelu' is not a part of a case id"),
        ('zip = { fills = ["exact"], seeds = [1, 2] }', r"zip: its lists differ in length: fills has 1, seeds has 2"),
        ('zip = { colour = ["red"] }', r"zip: 'colour' is not an axis"),
        ('case = "fwd_f16_n1k1c1_y1_h1"', r"shape: given as case and as shape"),
        ("n = 1", r"shape: given as shape and as g n k c"),
        ('gap = "inw"', r"gap: 'inw' is neither true nor false nor like inw8 or inw8_outh4"),
        ("gap = 1", r"gap: 1 is neither true nor false"),
        ('gap = "inn8"', r"shape: gapinn8: n is the outermost axis of in \(nhwgc\)"),
        ("split_k = 0", r"split_k: 0 is not a number from 1 up"),
        ("gemms_count = 4", r"gemms_count: the row says 4, bwd_data_f16_n1k8c8_y3x3_h8x8 splits into 1"),
        ('expect = "refused"', r"expect: give { refused = 'clause' }"),
        ('smoke = { colour = "red" }', r"smoke: 'colour' is neither an axis nor instances"),
    ],
)
def test_a_bad_field_is_named_with_its_place(write: Write, bad: str, message: str) -> None:
    path = write(f"# a comment\n\n{ROW}{bad}\n")
    with pytest.raises(UsageError, match=rf"cases.toml:3: \[\[case\]\] 'r': {message}"):
        ids(path)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (ROW.replace('why = "w"\n', ""), r"'r': why: is missing"),
        (ROW.replace('dtypes = "f16"\n', ""), r"'r': dtypes: is missing; give it here or in \[defaults\]"),
        (ROW.replace("y3x3", "y9x9"), r"'r': shape: .*no output cell"),
        (ROW.replace('shape = "n1k8c8_y3x3_h8x8"\n', ""), r"shape: is missing; give one of case, shape"),
        (ROW.replace('shape = "n1k8c8_y3x3_h8x8"\n', "n = 1\nk = 2\n"), r"c: is missing next to n, k"),
        ("[[case]\n", r"cases.toml: not TOML: .*line 1"),
        ("case = 3\n", r"'case' is not a set of rows; write \[\[case\]\]"),
        ('[[other]]\nwhy = "w"\n', r"has no \[\[case\]\]"),
        ('[[case]]\ninclude = "none.toml#x"\n', r"include: .*none.toml does not exist"),
        ('[[case]]\ninclude = "#case"\n', r"include goes in a circle: cases.toml#case -> cases.toml#case"),
        ('[[case]]\ninclude = ""\n', r"include: '' is not like"),
    ],
)
def test_a_bad_table_is_refused(write: Write, text: str, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        ids(write(text))


def test_a_missing_table_says_what_a_suite_is(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"no such case table; a suite is a folder with a cases.toml"):
        load_set(tmp_path / "cases.toml")
