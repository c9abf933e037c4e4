"""Files of ids: what they may hold, and the ones that bitgate's own speed is measured on."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from bitgate.core.errors import UsageError
from bitgate.core.project import ours
from bitgate.kernel import registry
from bitgate.runtime.targets import platform_of
from bitgate.suite.id_file import check_known, read_ids
from bitgate.suite.planning import Setting
from bitgate.suite.suites import plan_suites

FROZEN = Path(__file__).parents[2] / "benchmarks" / "frozen"


def test_a_file_has_an_id_a_line_and_comments(tmp_path: Path) -> None:
    file = tmp_path / "ids.txt"
    file.write_text("# two of them\nfwd_a__exact\n\n  fwd_b__exact\n")
    assert read_ids(file) == {"fwd_a__exact", "fwd_b__exact"}


def test_an_id_of_no_case_is_named_with_its_nearest() -> None:
    with pytest.raises(UsageError, match=r"no test is called 'fwd_b'; .*fwd_a"):
        check_known({"fwd_b"}, {"fwd_a"})


@pytest.mark.parametrize(("target", "count"), [("host", 3392), ("sm_90", 2408)])
def test_speed_is_measured_on_cases_that_do_not_change(target: str, count: int) -> None:
    """A case that was renamed gets its new name there; one that was given up leaves the figures without a ground. Where
    a tier draws one instance a family for a case, an id names the one that was drawn then."""
    ids = read_ids(FROZEN / f"{target}.txt")
    setting = Setting(target, platform_of(target), registry.families(), tier="smoke")
    drawn, planned = (_ids(one) for one in (setting, replace(setting, selected=ids)))
    assert len(ids) == count
    assert ids <= planned
    assert planned == drawn | ids  # and nothing else comes with it


def _ids(setting: Setting) -> set[str]:
    return {case.id for case in plan_suites(setting, "smoke", ours().tables()).cases}


def test_an_id_that_is_like_none_is_told_in_one_line() -> None:
    """There may be ten thousand of them."""
    known = [f"fwd_f16_n{number}" for number in range(5000)]
    with pytest.raises(UsageError) as told:
        check_known(["?"], known)
    assert str(told.value) == "--select: no test is called '?', nor anything like it, among the 5000 there are"
