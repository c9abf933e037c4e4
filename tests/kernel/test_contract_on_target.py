"""What a kernel promises depends on the target's matrix instructions."""

from __future__ import annotations

from dataclasses import replace

from bitgate.kernel.registry import families
from bitgate.model import F32_ACCUMULATION, Accumulation, parse_case_id

KERNEL = families()["grouped_fwd"]
NAIVE = families()["naive_conv"]


def test_matrix_instructions_of_gfx90a_flush_subnormals():
    for target, flushes in (("gfx90a", True), ("gfx942", False), ("gfx1100", False), ("host", False)):
        instances = KERNEL.on(target).instances
        assert instances
        for instance in instances:
            assert isinstance(instance.accumulation, Accumulation)
            assert instance.accumulation.flushes_subnormals == flushes or not instance.fragment, target


def test_a_kernel_without_fragments_keeps_its_contract():
    assert NAIVE.on("gfx90a").instances == NAIVE.instances


def test_contracts_by_dtypes_are_changed_each():
    instance = replace(KERNEL.instances[0], accumulation={"f16": F32_ACCUMULATION, "bf16": F32_ACCUMULATION})
    changed = instance.on("gfx90a").accumulation
    assert isinstance(changed, dict)
    assert all(own.flushes_subnormals for own in changed.values())


def test_slices_added_in_the_result_are_rounded_to_it():
    """Slices of integers never are: a kernel refuses to split them, and takes auto for 1."""
    partials = {
        (dtypes, split): instance.accumulation_for(
            parse_case_id(f"bwd_weight_{dtypes}_nwgc_g1n2k8c8_y1_h2_sk{split}")
        ).partial
        for dtypes in ("bf16", "i8")
        for instance in families()["grouped_bwd_weight"].instances
        if instance.dtypes[0] == dtypes
        for split in ("1", "2", "auto")
    }
    rounded = {key for key, partial in partials.items() if partial is not None}
    assert rounded == {("bf16", "2"), ("bf16", "auto")}


def test_fragments_of_32_lanes_are_those_of_wmma():
    """Of another extent 8-bit factors would be multiplied as bf16 on gfx12. WMMA has no f32: sums by fma are free."""
    found = {
        f"{family.name}.{instance.name}": instance.fragment
        for family in families().values()
        for instance in family.instances
        if instance.wave_size == 32 and instance.fragment and instance.dtypes[0] != "f32"
    }
    assert found
    assert {name: extent for name, extent in found.items() if extent != (16, 16, 16)} == {}
