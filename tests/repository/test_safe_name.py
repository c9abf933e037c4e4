"""One rule for text that becomes a part of a path."""

from __future__ import annotations

import pytest

from bitgate.core.errors import UsageError
from bitgate.core.untrusted import is_safe, safe_name


@pytest.mark.parametrize("text", ["host", "gfx942", "sm_90", "fwd_f32_g1", "in.npy", "ubuntu-24.04", "0", "a" * 240])
def test_names(text: str) -> None:
    assert safe_name(text, "a name") == text


@pytest.mark.parametrize(
    "text",
    [
        "",
        ".",
        "..",
        "../x",
        "a/b",
        "/x",
        ".x",
        "-rf",
        "+x",
        "a b",
        "a\n",
        "\x00",
        "a\\b",
        "é",
        "$x",
        "a:b",
        "~",
        "a" * 241,
    ],
)
def test_no_names(text: str) -> None:
    assert not is_safe(text)
    with pytest.raises(UsageError, match=r"a name: .* cannot be a name in a path"):
        safe_name(text, "a name")


@pytest.mark.parametrize("value", [None, 3, b"host", ["host"]])
def test_what_is_no_text_is_no_name(value: object) -> None:
    assert not is_safe(value)
