"""JSON is read by whoever reads it fastest, and means what Python's own reader says it means."""

from __future__ import annotations

import json
import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bitgate.core.untrusted import DEEPEST, InvalidInput, parse_json

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=12,
)


def same(one: Any, other: Any) -> bool:
    if isinstance(one, float) and math.isnan(one):
        return isinstance(other, float) and math.isnan(other)
    if isinstance(one, dict):
        return isinstance(other, dict) and [*one] == [*other] and all(same(one[name], other[name]) for name in one)
    if isinstance(one, list):
        return isinstance(other, list) and len(one) == len(other) and all(map(same, one, other))
    return type(one) is type(other) and repr(one) == repr(other)


@given(VALUES, st.booleans())
def test_what_was_written_is_read(value: Any, is_ascii: bool) -> None:
    assert same(parse_json(json.dumps(value, ensure_ascii=is_ascii).encode()), value)


@given(VALUES, st.integers(0, 400), st.binary(max_size=3))
def test_what_is_damaged_is_refused_or_read_alike(value: Any, place: int, other: bytes) -> None:
    data = json.dumps(value).encode()
    data = data[:place] + other + data[place + 1 :]
    try:
        expected = json.loads(data.decode())
        json.dumps(expected, ensure_ascii=False).encode()
    except ValueError:
        with pytest.raises(InvalidInput):
            parse_json(data)
    else:
        assert same(parse_json(data), expected)


@pytest.mark.parametrize(("open_", "close"), [("[", "]"), ('{"a":', "}")])
def test_levels_are_counted(open_: str, close: str) -> None:
    def nested(levels: int) -> bytes:
        return (open_ * levels + "0" + close * levels).encode()

    parse_json(nested(DEEPEST))
    for levels in (DEEPEST + 1, 900, 100_000):
        with pytest.raises(InvalidInput, match=f"nested deeper than {DEEPEST} levels"):
            parse_json(nested(levels))
