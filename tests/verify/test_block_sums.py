"""A block reduction without one of its synchronisations is red in the default `verify`, every time; whole, it is green
under every order of threads."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from bitgate.core import paths
from bitgate.core.project import ours
from bitgate.kernel.registry import families
from bitgate.kernel.resolved import kernel_called
from bitgate.model import parse_case_id
from bitgate.results.record import Outcome
from bitgate.tools.faults.fault import Fault, read_faults
from bitgate.verify.pipeline import verify
from bitgate.verify.planned import PlannedCase
from bitgate.verify.session import Session

FOLDER = Path(__file__).parent / "block_sums"
FAMILIES = families(ours().loading([FOLDER / "declaration.py"]), "host", here=True)
DEFECTS = read_faults([FOLDER / "defects.toml"])
INSTANCES = [f"w{wave}_b{block}" for wave in (32, 64) for block in (64, 128, 256, 512, 1024)]
HEALTHY_SCHEDULES = ["forward", "reverse", "lockstep", *(f"random:{seed}" for seed in range(1, 7))]
TRIES = 20 if os.environ.get("BITGATE_NIGHTLY") else 3


@pytest.fixture(scope="module")
def open_with(tmp_path_factory: pytest.TempPathFactory) -> Callable[[Fault | None], Session]:
    """A session on the family, with the defect in it; each is built once."""
    sessions: dict[str, Session] = {}

    def open_(fault: Fault | None) -> Session:
        name = fault.name if fault else ""
        if name not in sessions:
            overlay = {}
            if fault:
                folder = tmp_path_factory.mktemp(name)
                fault.plant(paths.root(), folder)
                overlay = {fault.file: folder / fault.file}
            sessions[name] = Session(
                "host", project=ours().loading([FOLDER / "declaration.py"]), overlay=overlay, progress=lambda line: None
            )
        return sessions[name]

    return open_


def planned(instance: str, schedule: str = "forward", seed: int = 0) -> PlannedCase:
    problem = parse_case_id("gemm_f32_rcr_b1m2n3k1100")
    return PlannedCase(problem, kernel_called(FAMILIES, "block_sums", instance), seed=seed, schedule=schedule)


@pytest.mark.parametrize("schedule", HEALTHY_SCHEDULES)
@pytest.mark.parametrize("instance", INSTANCES)
def test_a_right_reduction_is_green_under_every_schedule(open_with, instance: str, schedule: str) -> None:
    assert verify(planned(instance, schedule), open_with(None)).outcome is Outcome.PASS


@pytest.mark.parametrize("instance", INSTANCES)
@pytest.mark.parametrize("fault", DEFECTS, ids=lambda fault: fault.name)
def test_a_missing_synchronisation_is_red_every_time(open_with, fault: Fault, instance: str) -> None:
    if fault.name.startswith("barrier_") and instance == "w64_b64":
        pytest.skip("a block of one wave needs no barrier: its lanes are ordered by the shuffles")
    session = open_with(fault)
    outcomes = [verify(planned(instance, seed=seed), session).outcome for seed in range(TRIES)]
    assert set(outcomes) == {Outcome.NONDETERMINISTIC}


@pytest.mark.parametrize("instance", ["w32_b256", "w64_b1024"])
@pytest.mark.parametrize("name", ["barrier_between_waves_is_a_waves_own", "barrier_before_reuse_removed"])
def test_lockstep_misses_a_missing_barrier_between_waves(open_with, name: str, instance: str) -> None:
    """Why waves go first: side by side, every wave has written before any reads."""
    fault = next(fault for fault in DEFECTS if fault.name == name)
    assert verify(planned(instance, "lockstep"), open_with(fault)).outcome is Outcome.PASS
