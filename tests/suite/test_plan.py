"""The plan file round-trips, and its id stands for the work and nothing else."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import structs

from bitgate.core.untrusted import InvalidInput
from bitgate.results.plan import Plan, PlanError, PlannedItem, repeated
from bitgate.results.record import Key

WORDS = st.text("abcdefghijklmnopqrstuvwxyz0123456789_", min_size=1, max_size=12)
KEYS = st.builds(
    Key,
    case=WORDS,
    kernel=WORDS,
    instance=WORDS,
    options=st.dictionaries(WORDS, WORDS, max_size=2).map(lambda options: tuple(sorted(options.items()))),
    fill=WORDS,
    seed=st.integers(0, 2**31),
    schedule=WORDS,
    target=WORDS,
)
ITEMS = st.builds(
    PlannedItem,
    id=WORDS,
    key=KEYS,
    tier=WORDS,
    suite=WORDS,
    test=st.text(max_size=20),
    why=st.text(max_size=20),
    seconds=st.floats(0, 1e4),
)
PLANS = st.builds(Plan, tier=WORDS, target=WORDS, cases=st.lists(ITEMS, max_size=5).map(tuple))


@given(plan=PLANS)
def test_a_plan_survives_its_file(plan: Plan) -> None:
    assert Plan.from_json(json.loads(json.dumps(plan.to_json()))) == plan


@given(key=KEYS)
def test_a_key_stands_flat_among_other_fields(key: Key) -> None:
    flat = {**key.fields(), "verdict": "PASS", "test": ""}
    assert Key.of(flat) == key
    assert Key.of(dict(reversed(flat.items()))).values == key.values


@pytest.mark.parametrize(
    ("spoilt", "message"),
    [
        ({"seed": -1}, "Expected 'int' >= 0 - at '$.seed'"),
        ({"kernel": "../x"}, "at '$.kernel'"),
        ({"options": ["gate"]}, "options: expected an object"),
        ({"options": {"gate": 1}}, "Expected 'str', got 'int' - at '$.options"),
        ({"fill": None}, "Expected 'str', got 'null' - at '$.fill'"),
    ],
)
def test_what_is_no_key_is_reported(spoilt: dict[str, object], message: str) -> None:
    key = Key("fwd", "naive_conv", "f32", (("gate", "off"),), "exact", 0, "forward", "host")
    with pytest.raises(InvalidInput, match=re.escape(message)):
        Key.of(key.fields() | spoilt)


def test_a_file_leaves_out_what_is_as_always() -> None:
    item = PlannedItem.of({"id": "a", "case": "fwd", "kernel": "k", "instance": "i", "fill": "exact", "target": "host"})
    assert item.key == Key("fwd", "k", "i", (), "exact", 0, "forward", "host")
    with pytest.raises(InvalidInput, match="unknown field 'colour'"):
        PlannedItem.of({**item.fields(), "colour": "red"})


@given(plan=PLANS, data=st.data())
def test_the_id_is_that_of_the_work_not_of_its_order(plan: Plan, data: st.DataObject) -> None:
    shuffled = replace(plan, cases=tuple(data.draw(st.permutations(plan.cases))))
    slower = replace(plan, cases=tuple(structs.replace(item, seconds=item.seconds + 1) for item in plan.cases))
    assert shuffled.id == plan.id == slower.id
    assert replace(plan, target=plan.target + "x").id != plan.id
    if plan.cases:
        assert replace(plan, cases=plan.cases[1:]).id != plan.id


def test_a_file_is_written_whole(tmp_path: Path) -> None:
    plan = Plan("smoke", "host", ())
    plan.write(tmp_path / "deep" / "plan.json")
    assert Plan.read(tmp_path / "deep" / "plan.json") == plan
    assert [path.name for path in (tmp_path / "deep").iterdir()] == ["plan.json"]


@given(plan=PLANS)
def test_a_file_has_a_line_a_case(plan: Plan) -> None:
    assert json.loads(plan.text) == plan.to_json()
    lines = [line.removesuffix(",") for line in plan.text.splitlines()]
    assert [json.loads(line) for line in lines[1 : 1 + len(plan.cases)]] == [item.fields() for item in plan.cases]


@pytest.mark.parametrize(
    ("document", "message"),
    [
        ("{", "plan.json: "),
        ('{"schema": 9}', "schema 9 is not 1: no plan, or written by another version"),
        ('{"schema": 1, "tier": "smoke"}', "not a plan: Object missing required field 'id'"),
        ('{"schema": 1, "tier": "smoke", "target": "host", "cases": [], "id": "x"}', "edited by hand, or cut short"),
    ],
)
def test_a_bad_file_is_named(tmp_path: Path, document: str, message: str) -> None:
    path = tmp_path / "plan.json"
    path.write_text(document)
    with pytest.raises(PlanError, match=message):
        Plan.read(path)


def test_repeated_ids_are_found() -> None:
    assert repeated(["b", "a", "b", "c", "a", "b"]) == ["a", "b"]


def test_reading_a_plan_needs_the_standard_library_only() -> None:
    code = "import sys, bitgate.results.plan; sys.exit('numpy' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
