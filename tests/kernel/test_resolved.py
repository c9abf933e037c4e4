"""From names to a kernel, once; and a kernel's names are all that goes to another process."""

from __future__ import annotations

import msgspec
import pytest

from bitgate.core.errors import UsageError
from bitgate.kernel.registry import families
from bitgate.kernel.resolved import NO_KERNEL, Kernel, kernel_called
from bitgate.model import parse_case_id
from bitgate.results.record import Outcome, Verdict
from bitgate.tools.fuzz.failure import FuzzFailure
from bitgate.tools.fuzz.server import RedCaseMessage
from bitgate.verify.planned import PlannedCase, PlannedMessage

FAMILIES = families(target="host")
GATE = ("flat_path_gate", "off")
NAMES = ("grouped_bwd_data", "f32_32x32x16_a1b1c1", (GATE,))


def planned() -> PlannedCase:
    problem = parse_case_id("bwd_data_f32_nhwgc_g1n1k8c8_y3x3_h6x6_s2x2_d1x1_p1x1_q1x1")
    return PlannedCase(problem, kernel_called(FAMILIES, *NAMES), seed=3, tier="smoke", row="cases.toml:7")


def test_options_that_are_not_named_keep_their_production_value() -> None:
    kernel = kernel_called(FAMILIES, *NAMES)
    assert kernel.settings == {o.name: o.production for o in kernel.family.options} | dict([GATE])
    assert not kernel.is_production
    assert kernel_called(FAMILIES, *NAMES[:2]).is_production


def test_kernels_are_equal_if_their_names_are() -> None:
    here, there = (kernel_called(known, *NAMES) for known in (FAMILIES, families(target="gfx942")))
    assert here == there
    assert here != kernel_called(FAMILIES, *NAMES[:2])
    assert len({here, there}) == 1
    assert here.name == "grouped_bwd_data.f32_32x32x16_a1b1c1"


@pytest.mark.parametrize(
    ("names", "message"),
    [
        (("grouped_bwd", *NAMES[1:]), "no kernel family 'grouped_bwd'"),
        ((NAMES[0], "f32_32x32x16", ()), "no instance 'f32_32x32x16'; did you mean"),
        ((*NAMES[:2], [("flat_path_gat", "off")]), "no option 'flat_path_gat'; did you mean 'flat_path_gate'"),
        ((*NAMES[:2], [("flat_path_gate", "ajar")]), "option flat_path_gate=ajar"),
    ],
)
def test_a_name_that_nobody_bears_is_the_users_mistake(names: tuple[str, str, list[tuple[str, str]]], message: str):
    with pytest.raises(UsageError, match=message):
        kernel_called(FAMILIES, *names)


def test_a_case_is_the_same_in_the_process_that_runs_it() -> None:
    sent = msgspec.json.encode(PlannedMessage.of(planned()))
    there = msgspec.json.decode(sent, type=PlannedMessage).planned(FAMILIES)
    assert there == planned()
    assert there.key == planned().key
    assert there.kernel.family is FAMILIES["grouped_bwd_data"]


def test_a_finding_reaches_a_process_without_a_declaration() -> None:
    found = FuzzFailure(planned(), Verdict(planned().key, Outcome.MISMATCH), 1.5, "grouped_bwd_data:bwd_data", 3)
    data = msgspec.json.encode(RedCaseMessage.of(found))
    assert b"grouped_bwd_data" in data
    assert b"sources" not in data
    there = msgspec.json.decode(data, type=RedCaseMessage).failure(FAMILIES)
    assert there == found
    assert there.planned.kernel.family is FAMILIES["grouped_bwd_data"]


def test_nobody_takes_a_case_that_is_nobodys() -> None:
    assert NO_KERNEL.name == "none.none"
    assert NO_KERNEL.refusal(planned().problem) is not None
    assert isinstance(NO_KERNEL, Kernel)
