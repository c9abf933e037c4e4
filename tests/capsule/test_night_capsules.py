"""The capsules of a night: what is chosen for a target, and a few of them run by their loader on the host."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Sequence
from itertools import combinations
from pathlib import Path

import pytest

from bitgate.cli.capsule_export import folder_name
from bitgate.core import paths
from bitgate.core.project import ours
from bitgate.kernel.registry import families
from bitgate.kernel.resolved import kernel_called
from bitgate.model import parse_case_id
from bitgate.results.plan import PlannedItem
from bitgate.suite.suites import make_plan
from bitgate.tools.capsule.selection import CORE, INSTANCE, MOST_BYTES, Classes, chosen, classes_of
from bitgate.tools.faults.fault import choose, read_faults

FAULT = "softmax_causal_limit_one_late"
SCRIPT = paths.root() / "benchmarks" / "capsules.py"


def all_and_chosen(kernel: str, target: str) -> tuple[list[Classes], list[Classes]]:
    """The classes of all cases of a kernel that can be chosen, and of those that are."""
    known = families(ours(), target)
    items = [item for item in make_plan("regression", target, ours(), kernel).cases if not item.refused]

    def classes(of: Sequence[PlannedItem]) -> list[Classes]:
        keys = [item.key for item in of]
        kernels = [kernel_called(known, key.kernel, key.instance, key.options) for key in keys]
        return [classes_of(kernel, parse_case_id(key.case)) for kernel, key in zip(kernels, keys, strict=True)]

    return classes(items), classes(chosen(items, known, target))


def pairs(cases: Sequence[Classes]) -> set[tuple[tuple[str, str], ...]]:
    return {pair for one in cases for pair in combinations(sorted({**one, INSTANCE: ""}.items()), 2)}


def test_every_reduction_of_every_type_is_chosen() -> None:
    every, found = all_and_chosen("reduction.*", "gfx942")
    core = {tuple(one.get(name) for name in CORE) for one in found}
    assert core == {tuple(one.get(name) for name in CORE) for one in every}
    assert pairs(found) == pairs(every)
    assert len(found) < len(every) / 5
    split_maxima = {one["dtypes"] for one in found if (one["kind"], one.get("split_k")) == ("max", "several")}
    assert split_maxima == {f"{name} {name}" for name in ("f32", "f16", "bf16", "i8", "i32")}, "atomicMax of 32 bits"


def test_merged_groups_copies_and_casts_are_chosen() -> None:
    every, found = all_and_chosen("grouped_bwd_weight.*", "gfx942")
    assert {one["instance"] for one in found} == {one["instance"] for one in every}
    for other in ("dtypes", "split_k"):  # merged groups meet each class of what else a capsule has
        merged, due = ({one.get(other) for one in cases if one["trait merge"] == "8"} for cases in (found, every))
        assert merged == due
        assert len(due) == 3
    copies = {(one["dtypes"], one.get("transposes")) for one in found}
    assert copies >= {(dtypes, count) for dtypes in ("f16 f16 f16", "f32 f32 f32") for count in "0123"}
    assert any(one["dtypes"] == "bf16 f32 bf16" for one in found)


def test_what_would_fill_a_disk_is_left_out() -> None:
    known = families(ours(), "gfx942")
    items = make_plan("regression", "gfx942", ours(), "reduction.i8*").cases
    tensors = [parse_case_id(one.key.case).tensors.values() for one in chosen(items, known, "gfx942")]
    assert max(sum(tensor.bytes for tensor in one) for one in tensors) <= MOST_BYTES


def night(kernel: str, *words: str, target: str = "gfx1201", **environment: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, str(SCRIPT), "--target", target, "--kernel", kernel, *words]
    return subprocess.run(command, env={**os.environ, **environment}, capture_output=True, text=True, check=False)


def test_a_sample_comes_back_and_changed_bits_are_red(tmp_path: Path) -> None:
    done = night("softmax.f16*", "--first", "2", "--out", str(tmp_path))
    assert done.returncode == 0, done.stdout + done.stderr
    assert (
        "2 of 2 capsules of 1 targets came back as expected, and a changed bit of each of their 2 outputs is red"
        in (done.stdout)
    )
    assert len(list(tmp_path.glob("gfx1201/*/results.json"))) == 2


@pytest.mark.nightly
def test_a_kernel_that_is_wrong_makes_the_night_red(tmp_path: Path) -> None:
    (fault,) = choose(read_faults(sorted((paths.root() / "suites" / "faults").glob("*.toml"))), FAULT)
    fault.plant(paths.root(), tmp_path / "overlay")
    overlay = {"BITGATE_OVERLAY": str(tmp_path / "overlay"), "BITGATE_OVERLAY_ROOT": str(paths.root())}
    done = night("softmax.f16*", **overlay)
    assert done.returncode == 1
    assert "RED  gfx1201  softmax_" in done.stdout
    assert "MISMATCH" in done.stdout


def test_each_case_has_a_folder_of_its_own() -> None:
    plain = folder_name("softmax_f16_r2c2", "softmax.f16_wave", (), "exact", "gfx942")
    assert plain == "softmax_f16_r2c2__softmax_f16_wave__exact__gfx942"
    options = [(("most_blocks", str(number)),) for number in (1, 2)]
    names = {folder_name("softmax_" + "f16_" * 60, "softmax.f16_wave", one, "exact", "gfx942") for one in options}
    assert len(names) == 2
    assert {len(name) for name in names} == {200}
