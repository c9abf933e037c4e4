"""One factory makes verdicts: of a line in a plan as of a planned case."""

from __future__ import annotations

from bitgate.kernel.resolved import NO_KERNEL
from bitgate.model import parse_case_id
from bitgate.results.plan import PlannedItem
from bitgate.results.record import DeviceOfRecord, Key, Outcome, verdict_on
from bitgate.verify.planned import PlannedCase

CASE = "fwd_f32_nhwgc_g1n1k1c1_y1x1_h1x1_s1x1_d1x1_p0x0_q0x0"


def test_a_verdict_says_what_was_planned() -> None:
    key = Key(CASE, "naive_conv", "fwd_f32", (("gate", "off"),), "exact", 3, "forward", "host")
    item = PlannedItem("a", key, "smoke", "conv_fwd", "test_a.py::test[a]", human="fwd 1x1", row="cases.toml:3")
    verdict = verdict_on(item, DeviceOfRecord("host", "cpu", "2 threads"), Outcome.LOST, "no result", plan="p0")
    assert verdict.key is key
    assert (verdict.outcome, verdict.reason, verdict.plan) == (Outcome.LOST, "no result", "p0")
    assert (verdict.suite, verdict.test, verdict.tier) == ("conv_fwd", "test_a.py::test[a]", "smoke")
    assert (verdict.human, verdict.row) == ("fwd 1x1", "cases.toml:3")
    assert DeviceOfRecord.of(verdict) == DeviceOfRecord("host", "cpu", "2 threads")
    assert not verdict.green


def test_what_is_known_beyond_the_plan_goes_before_it() -> None:
    planned = PlannedCase(parse_case_id(CASE), NO_KERNEL, tier="smoke")
    verdict = verdict_on(planned, DeviceOfRecord(), Outcome.PASS, digest="bg1:00", human="in other words")
    assert (verdict.key, verdict.tier, verdict.digest, verdict.human) == (
        planned.key,
        "smoke",
        "bg1:00",
        "in other words",
    )
