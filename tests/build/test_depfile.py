"""A compiler's list of the files it read."""

from __future__ import annotations

import pytest

from bitgate.kernel.build.errors import first_error
from bitgate.kernel.build.unit import read_depfile


@pytest.mark.parametrize(
    ("text", "files"),
    [
        ("o.o: a.cpp\n", ["a.cpp"]),
        ("o.o: a.cpp \\\n  b.hpp c.hpp\n\nb.hpp:\n", ["a.cpp", "b.hpp", "c.hpp"]),
        ("o.o: with\\ space.cpp cost$$.hpp\n", ["with space.cpp", "cost$.hpp"]),
    ],
)
def test_the_prerequisites_are_read(text: str, files: list[str]) -> None:
    assert read_depfile(text) == files


@pytest.mark.parametrize(
    ("output", "line"),
    [
        ("In file included from a:\nb.hpp:3:1: error: no\nb.hpp:9:1: error: later", "b.hpp:3:1: error: no"),
        ("/usr/bin/ld: a.o: undefined reference to `f'\ncollect2: error: ld returned 1", "/usr/bin/ld: a.o: undefined"),
        ("", "the compiler said nothing"),
    ],
)
def test_the_first_error_is_found(output: str, line: str) -> None:
    assert first_error(output).startswith(line)
