"""The order in which contenders of a shape are verified."""

from __future__ import annotations

from bitgate.kernel.registry import families
from bitgate.kernel.resolved import Kernel
from bitgate.model import parse_case_id
from bitgate.tools.bench.arm import Arm, Candidate, TimedShape
from bitgate.tools.bench.settings import Settings
from bitgate.tools.bench.sweep_run import by_data
from bitgate.tools.bench.worker import CandidateRun
from bitgate.verify.planned import PlannedCase
from bitgate.verify.process import CaseProcess, Opening

SPLIT = parse_case_id("bwd_weight_f16_nhwgc_g1n2k32c32_y1x1_h8x8_skauto")


def entrant(side: str, family: str, instance: str) -> CandidateRun:
    found = families()[family]
    kernel = Kernel(found, next(one for one in found.instances if one.name == instance))
    planned = PlannedCase(SPLIT, kernel, target="host")
    return CandidateRun(
        Candidate(Arm(side), kernel), TimedShape(SPLIT), planned, CaseProcess(Opening("host")), Settings()
    )


def test_kernels_whose_data_are_the_same_follow_each_other() -> None:
    """One stage adds its slices up in f16, two stages in f32, whose sums may be larger: mixed sides would have each
    reference made again and again."""
    turns = [
        entrant("A", "grouped_bwd_weight", "f16_128x128x32_a8b8c8_d3"),
        entrant("B", "bwd_weight_two_stage", "f16_128x64x32_a8b8c8_d2"),
        entrant("A", "grouped_bwd_weight", "f16_32x32x32_a1b1c1"),
        entrant("B", "bwd_weight_two_stage", "f16_32x32x32_a1b1c1"),
    ]
    assert [one.contender.side.name for one in by_data(turns)] == ["A", "A", "B", "B"]
