"""A declaration's fields are of the types that KernelFamily states, or the file is refused in one line."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from tests.plain_family import plain_family

from bitgate.kernel.declaration import Dispatch, KernelFamily, Refusal
from bitgate.kernel.declared_fields import check_fields
from bitgate.kernel.predicates import PredicateFailed, guarded
from bitgate.model import parse_case_id

CASE = parse_case_id("fwd_f32_nhwgc_g1n1k1c1_y1x1_h1x1")


@pytest.fixture
def family(tmp_path: Path) -> KernelFamily:
    return plain_family(tmp_path, "one.hip.cpp")


@pytest.mark.parametrize(
    ("field", "value", "said"),
    [
        *[("sources", (odd,), "sources") for odd in ("/etc/passwd", "..", "", ".", None, 3)],
        *[("sources", odd, "sources") for odd in ("one.hip.cpp", None, 3)],
        *[("name", odd, "name") for odd in (None, 3, b"one", "")],
        *[("options", odd, "options") for odd in ("gate", ("gate",), {"gate": 1})],
        *[("folder", odd, "folder") for odd in ("here", None)],
        *[("library", odd, "library") for odd in ("lib.so", 1)],
        *[("dispatch", odd, "dispatch") for odd in (None, "flat")],
        *[("is_probe", odd, "is_probe") for odd in (None, 1, "no")],
    ],
)
def test_a_field_of_another_type_is_refused(family: KernelFamily, field: str, value: Any, said: str) -> None:
    with pytest.raises((TypeError, ValueError), match=said):
        check_fields(replace(family, **{field: value}))


@pytest.mark.parametrize(
    ("field", "value"),
    [
        *[("ndims", odd) for odd in ("2", ("2",), (2.0,), (-1,), (True,), None)],
        *[("tile", odd) for odd in ((1, 2), "1x2x3", (1, 2, None))],
        *[("accumulation", odd) for odd in (None, "f32", {"f32": "f32"})],
        *[("tiles", odd) for odd in ({"c": "64"}, ("c", 64), {"c": -1})],
    ],
)
def test_so_is_one_of_an_instance(family: KernelFamily, field: str, value: Any) -> None:
    (instance,) = family.instances
    with pytest.raises(TypeError, match=r"instances|instance 'only'"):
        check_fields(replace(family, instances=(replace(instance, **{field: value}),)))


@pytest.mark.parametrize(
    "answer",
    [
        *("grouped", ("grouped", 1), ["grouped", 1], 7, {"path": "flat", "launches": 1}),
        Dispatch("flat", "1"),  # type: ignore[arg-type]
        Dispatch(None, 1),  # type: ignore[arg-type]
        Dispatch("flat", 1, facts=[1]),  # type: ignore[arg-type]
        Dispatch("\ud800", 1),
    ],
)
def test_dispatch_returns_a_dispatch_or_raises(family: KernelFamily, answer: Any) -> None:
    asked = guarded(replace(family, dispatch=lambda problem, instance, options: answer))
    with pytest.raises(PredicateFailed, match="dispatch: TypeError: dispatch returned"):
        asked.dispatch(CASE, family.instances[0], {})


def test_supports_returns_a_refusal_or_raises(family: KernelFamily) -> None:
    said = guarded(replace(family, supports=lambda problem, instance, options: Refusal("c", "odd")))
    assert said.supports(CASE, family.instances[0], {}) == Refusal("c", "odd")


@pytest.mark.parametrize("answer", [True, "no", Refusal(1, "odd")])  # type: ignore[arg-type]
def test_nothing_else_is_an_answer_of_supports(family: KernelFamily, answer: Any) -> None:
    asked = guarded(replace(family, supports=lambda problem, instance, options: answer))
    with pytest.raises(PredicateFailed, match="supports: TypeError"):
        asked.supports(CASE, family.instances[0], {})
