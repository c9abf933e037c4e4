"""A process that asks ever more children, each for one question, does not run out of processes and descriptors."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from bitgate import verify
from bitgate.worker.kept import KEPT, KeptWorkers
from bitgate.worker.worker import Worker

ROOT = Path(__file__).parents[2]
FAMILY = """
from bitgate.kernel import DeviceSource, Instance, KernelFamily, KernelLaunch
from bitgate.operation import F32_ACCUMULATION

FAMILY = KernelFamily(
    name="compiled", operations=("gemm",), platforms=("amd", "nvidia"), sources=("gemm.ptx",),
    source=DeviceSource(kernels=("gemm",), launches=lambda *case: [KernelLaunch("gemm", 1, 64, ("in", "wei", "out"))]),
    instances=(Instance("f32", "all", ("f32",), ("rcr",), (0,), F32_ACCUMULATION),),
)
"""
PTX = ".version 8.3\n.target sm_80\n.visible .entry gemm(.param .u64 a, .param .u64 b, .param .u64 c)\n{\n  ret;\n}\n"


def descriptors() -> int:
    return len(os.listdir("/proc/self/fd"))


def test_the_one_asked_longest_ago_is_ended_and_starts_again_when_asked() -> None:
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")])}
    entry = "tests.worker.behaviours:serve"
    workers = [Worker(entry, lambda data: None, environment=environment) for _ in range(3)]
    kept = KeptWorkers(2)
    for worker in (*workers[:2], workers[0], workers[2]):
        kept.keep(worker)
        assert worker.ask({"behaviour": "well"}, 20) == {"well": True}
    assert [worker.is_alive for worker in workers] == [True, False, True]
    kept.keep(workers[1])
    assert workers[1].ask({"behaviour": "well"}, 20) == {"well": True}
    assert [worker.is_alive for worker in workers] == [False, True, True]
    for worker in workers:
        worker.end()


def test_each_kernel_that_is_judged_leaves_no_descriptor(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(KEPT, "_most", 2)
    counts = []
    for number in range(6):
        folder = tmp_path / str(number)
        folder.mkdir()
        (folder / "declaration.py").write_text(FAMILY)
        (folder / "gemm.ptx").write_text(PTX)
        verdict = verify("gemm_f32_m9n6k5", kernel=str(folder / "declaration.py"), target="host")
        assert verdict.outcome == "NOT_RUN"
        counts.append(descriptors())
    assert counts[2:] == [counts[2]] * 4
