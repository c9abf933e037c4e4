"""The shipped lists: solved from what is there now, and solved anew where that changed."""

from __future__ import annotations

import re
import shutil
from fnmatch import fnmatchcase

import pytest

from bitgate.core.errors import UsageError
from bitgate.core.project import ours
from bitgate.kernel import registry
from bitgate.results.strength import Strength, in_words, strength_in
from bitgate.suite.solved_list import read_list
from bitgate.tools.tiers.lists import REFUSED, TAKEN, _meaning, stale_lists, strengths_of, table_of, write_lists
from bitgate.tools.tiers.pool import subjects_of
from bitgate.tools.tiers.request import OffsetRequest, read_requests

REQUEST = """
[gemm]
kernels = "batched_gemm"
operations = "gemm"
smoke = 0.1
regression = 0.5
pool = 150
triples = ["layout", "op", "fill", "dtypes"]
"""


@pytest.fixture
def suites(tmp_path):
    (tmp_path / "solve.toml").write_text(REQUEST)
    (tmp_path / "gemm").mkdir()
    shutil.copy(ours().shelves[0] / "costs.toml", tmp_path)
    return tmp_path


def families():
    return registry.families(ours())


def test_shipped_lists_are_solved_from_what_is_there():
    assert stale_lists(ours().shelves[0], families()) == [], "run `bitgate cases --solve all`"


def test_every_suite_with_a_request_has_its_list():
    folder = ours().shelves[0]
    for suite, request in read_requests(folder).items():
        tier = "host" if isinstance(request, OffsetRequest) else "smoke"
        assert sum(one.tier == tier for one in read_list(folder / suite / TAKEN)) > 100


def test_a_request_may_choose_instances_by_name(suites):
    for suite, names in (("conv_factors", True), ("conv_bwd_weight", False), ("reference", False)):
        subjects = subjects_of(read_requests(ours().shelves[0])[suite], families())
        assert {fnmatchcase(one.name, "*_ct*_ct*") for family, _ in subjects for one in family.instances} == {names}
    (suites / "solve.toml").write_text(REQUEST + 'instances = "bf16*"\nwithout = "*_w32"\n')
    write_lists(suites, [], families(), lambda text: None)
    kernels = {line.kernel for line in read_list(suites / "gemm" / TAKEN)}
    assert all(re.fullmatch(r"batched_gemm\.bf16_.*(?<!_w32)", name) for name in kernels)
    assert kernels


def test_lists_are_the_same_twice_and_stale_after_another_request(suites):
    write_lists(suites, [], families(), lambda text: None)
    first = (suites / "gemm" / TAKEN).read_text()
    write_lists(suites, ["gemm"], families(), lambda text: None)
    assert (suites / "gemm" / TAKEN).read_text() == first
    assert stale_lists(suites, families()) == []
    (suites / "solve.toml").write_text(REQUEST.replace("150", "151"))
    assert stale_lists(suites, families()) == ["gemm"]


def test_refusals_are_listed_with_their_clause(suites):
    write_lists(suites, [], families(), lambda text: None)
    refused = read_list(suites / "gemm" / REFUSED)
    assert {"k_vector", "n_vector", "m_vector"} <= {one.refused for one in refused}


def test_an_unknown_suite_is_named(suites):
    with pytest.raises(UsageError, match="known are gemm"):
        write_lists(suites, ["gem"], families(), lambda text: None)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("gemm = 1", "'gemm' is not a suite's table"),
        ("[gemm]\nkernels = 'k'", "operations: is missing"),
        (REQUEST.replace("smoke = 0.1", "smoke = -1"), "smoke: -1 is not a positive number of seconds"),
    ],
)
def test_a_request_that_cannot_be_is_named(tmp_path, text, said):
    (tmp_path / "solve.toml").write_text(text)
    with pytest.raises(UsageError, match=said):
        read_requests(tmp_path)


def test_the_documentation_says_what_lists_reach():
    text = (ours().root / "docs" / "suites.md").read_text()
    assert table_of(strengths_of(ours().shelves[0])) in text, "paste what `bitgate cases --strengths` prints"


def test_a_line_of_a_header_is_read_as_it_is_written():
    one = Strength("reduction", "reduction", "smoke", 7, 1.5, (3, 4), (5, 6))
    assert strength_in(in_words(one)) == one
    assert strength_in("Cases that reach every pair") is None


def test_code_means_the_same_in_each_version_of_python(tmp_path):
    source = tmp_path / "one.py"
    source.write_text(
        '"""Text."""\nx = f"{1!r:>3}" " b"  # why\ndef f(a: int = 2) -> None:\n    """Text."""\n    return None\n'
    )
    assert _meaning(source).decode() == (
        "Module(body=[Assign(targets=[Name(id='x', ctx=Store())], value=FormattedValue(value=Constant(value=1), "
        "conversion=114, format_spec=>3) b), FunctionDef(name='f', args=arguments(args=[arg(arg='a', "
        "annotation=Name(id='int', ctx=Load()))], defaults=[Constant(value=2)]), body=[Return(value=Constant())], "
        "returns=Constant())])"
    )
