"""How targets are named, and which code runs where."""

from __future__ import annotations

import pytest
import rocm_bootstrap

from bitgate.core.errors import UsageError
from bitgate.core.targets import (
    ARCHITECTURES,
    architecture,
    architecture_of,
    canonical,
    in_place_of,
    runs_on,
    target_id,
)
from bitgate.core.untrusted import is_safe

# as given -> for files, for compilers
SPELLINGS = {
    "host": ("host", "host"),
    "sm_90": ("sm_90", "sm_90"),
    "gfx942": ("gfx942", "gfx942"),
    "gfx942:sramecc+:xnack-": ("gfx942_sramecc+_xnack-", "gfx942:sramecc+:xnack-"),
    "gfx942:xnack-:sramecc+": ("gfx942_sramecc+_xnack-", "gfx942:sramecc+:xnack-"),
    "gfx90a_xnack+": ("gfx90a_xnack+", "gfx90a:xnack+"),
    "gfx9-4-generic:xnack-": ("gfx9-4-generic_xnack-", "gfx9-4-generic:xnack-"),
}


@pytest.mark.parametrize("text", SPELLINGS)
def test_a_target_has_names_for_files_and_for_compilers(text: str) -> None:
    target, (name, spelled) = target_id(text), SPELLINGS[text]
    assert (target.name, target.spelled) == (name, spelled)
    assert target_id(target.name) == target_id(target.spelled) == target
    assert is_safe(name)


@pytest.mark.parametrize("other", ["gfx942", "gfx942:sramecc+:xnack-", "gfx12-generic", "sm_90"])
def test_the_host_may_replace_a_target_and_keeps_its_nature(other: str) -> None:
    target = target_id(f"host_for_{other}")
    assert target.name == f"host_for_{canonical(other)}"
    assert (target.platform, target.spelled, target.architecture) == ("host", "host", ARCHITECTURES["host"])
    assert target.in_place_of == in_place_of(target.name) == canonical(other)
    assert target_id(target.name) == target
    assert is_safe(target.name)
    assert in_place_of(other) == in_place_of("host") == in_place_of("nothing") == ""


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("gfx94", "unknown target 'gfx94'; did you mean 'gfx942'"),
        ("sm_9", "unknown target 'sm_9'"),
        ("gfx1100:xnack+", "'xnack\\+' is no feature of gfx1100, on or off, once: write gfx1100: it has no features"),
        ("gfx942:xnack", "write gfx942:sramecc\\+, gfx942:sramecc- or gfx942:xnack\\+, gfx942:xnack-"),
        ("gfx942:xnack+:xnack-", "'xnack-' is no feature of gfx942, on or off, once"),
        ("gfx942:", "target 'gfx942:': '' is no feature"),
        ("../x", "unknown target"),
        ("host_for_gfx94", "unknown target 'gfx94'; did you mean 'gfx942'"),
        ("host_for_host", "the host takes the place of a GPU's target"),
        ("host_for_host_for_gfx942", "the host takes the place of a GPU's target"),
    ],
)
def test_an_invalid_name_is_refused_with_a_right_one(text: str, said: str) -> None:
    with pytest.raises(UsageError, match=said):
        target_id(text)
    assert canonical(text) == text


@pytest.mark.parametrize(
    ("built", "device", "runs"),
    [
        ("gfx942", "gfx942:sramecc+:xnack-", True),
        ("gfx942:xnack-", "gfx942:sramecc+:xnack-", True),
        ("gfx942:xnack+", "gfx942:sramecc+:xnack-", False),
        ("gfx942:sramecc-:xnack-", "gfx942:sramecc+:xnack-", False),
        ("gfx942:xnack+", "gfx942", True),  # of a device with unqueried features
        ("gfx942", "gfx950", False),
        ("gfx9-4-generic", "gfx950:sramecc+:xnack-", True),
        ("gfx9-4-generic:xnack+", "gfx950:sramecc+:xnack-", False),
        ("gfx942", "gfx9-4-generic", False),
        ("gfx9-generic", "gfx90a", False),
        ("gfx12-generic", "gfx1201", True),
        ("host", "host", True),
        ("sm_90", "sm_100", False),
        ("host_for_gfx942", "host", True),
        ("gfx942", "host_for_gfx942", False),
        ("host_for_gfx942", "gfx942", False),
        ("amd", "gfx942", False),  # a library that does not say for which target it was built
        ("gfx942", "a GPU of next year", False),
    ],
)
def test_which_code_runs_where(built: str, device: str, runs: bool) -> None:
    assert runs_on(built, device) is runs


def test_rocms_table_agrees_with_ours_on_shared_targets() -> None:
    theirs = {target.name: target for target in rocm_bootstrap.ALL_TARGETS if target.name in ARCHITECTURES}
    assert len(theirs) > 30
    for name, target in theirs.items():
        features = ARCHITECTURES[name].features
        assert ("xnack" in features) == (target.xnack is rocm_bootstrap.XnackMode.SUPPORTED), name


def test_members_of_generic_targets_have_what_the_generic_has() -> None:
    generics = [row for row in ARCHITECTURES.values() if row.members]
    assert len(generics) == 6
    for generic in generics:
        for name in generic.members:
            member = architecture(name)
            assert member.waves == generic.waves
            assert member.lds_bytes >= generic.lds_bytes
            assert set(generic.pair_adds) <= set(member.pair_adds)
            assert set(generic.features) <= set(member.features)
            if generic.matrix is not None:
                assert member.matrix is not None
                assert member.matrix.generation == generic.matrix.generation
                assert generic.matrix.float8 in ("", member.matrix.float8)


def test_facts_of_targets_are_found_by_either_spelling() -> None:
    assert architecture_of("gfx950:xnack-") is architecture_of("gfx950_xnack-") is ARCHITECTURES["gfx950"]
    assert architecture_of("sm_90").pair_adds == ("f16", "bf16")
    assert architecture_of("sm_80").pair_adds == ("f16",)
