"""A case that an owner's kernel does not take is red, unless the target is allowed that gap, until a day."""

from __future__ import annotations

from typing import Any

import pytest

from bitgate.results.record import read

ROW = """
[[case]]
name = "three by three"
why = "nobody has written it yet"
case = "bwd_data_f32_nhwgc_g1n1k2c2_y3x3_h4x4_p1x1"
tier = "smoke"
"""
GAP = """
[[target.host.tolerated]]
case = "*_y3x3_*"
reason = "filters come next"
owner = "me@here"
expires = {expires}
"""


@pytest.mark.parametrize(
    ("expires", "code", "said"),
    [
        ("", 1, ""),
        ("2999-12-31", 0, "tolerated until 2999-12-31 (me@here: filters come next): "),
        ("2020-02-29", 1, "tolerated until 2020-02-29 only (me@here: filters come next): "),
    ],
    ids=["no gap", "a gap", "an expired one"],
)
def test_a_case_that_is_not_taken(owners: Any, expires: str, code: int, said: str) -> None:
    table = owners.folder / "suites" / "mine" / "cases.toml"
    owners.write("suites/mine/cases.toml", table.read_text() + ROW)
    targets = owners.folder / "ci" / "targets.toml"
    gap = GAP.format(expires=expires) if expires else ""
    owners.write("ci/targets.toml", targets.read_text() + gap)
    done = owners.bitgate("run", "--target=host", "-n0")
    assert done.code == code, done.said
    (verdict,) = [one for one in read(owners.folder / "out" / "host" / "results.jsonl") if "_y3x3_" in one.key.case]
    assert verdict.green == (code == 0)
    assert verdict.reason.startswith(said)


def test_a_bad_targets_file_ends_a_run_in_one_line(owners: Any) -> None:
    owners.write("ci/targets.toml", (owners.folder / "ci" / "targets.toml").read_text().replace("gate =", "gates ="))
    done = owners.bitgate("run", "--target=host", "-n0")
    assert done.code == 2
    (line,) = [line for line in done.said.splitlines() if "targets.toml" in line]
    assert "[target.host]: gates: no such field; did you mean 'gate'?" in line
    assert "Traceback" not in done.said
