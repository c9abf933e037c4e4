"""What a compiler says of a family's sources when it is asked, and nothing is built."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.plain_family import plain_family

from bitgate.kernel.build.builder import Builder
from bitgate.kernel.build.errors import BuildError
from bitgate.kernel.build.questions import compiled_lines, complaints, places
from bitgate.kernel.declaration import KernelFamily

SOURCE = """#include "other.hpp"
#if defined(__HIP_PLATFORM_HOST__)
int here() { return other(1); }
#else
int there() { return other(2); }
#endif
"""
OTHER = "#pragma once\ntemplate <class T> int other(T a) {\n  return a.count;\n}\n"
RIGHT = OTHER.replace("a.count", "a")


@pytest.fixture
def family(tmp_path: Path) -> KernelFamily:
    (tmp_path / "other.hpp").write_text(RIGHT)
    (tmp_path / "one.hip.cpp").write_text("#include <hip/hip_runtime.h>\n" + SOURCE)
    return plain_family(tmp_path, "one.hip.cpp")


def test_lines_of_other_platforms_are_not_compiled(family: KernelFamily) -> None:
    lines = compiled_lines(Builder(), family)
    assert {4} == lines[family.folder / "one.hip.cpp"] & {4, 6}
    assert 3 in lines[family.folder / "other.hpp"]


def test_a_header_of_another_folder_has_its_plain_path(family: KernelFamily) -> None:
    """An overlay replaces a file by that path."""
    (family.folder / "inner").mkdir()
    (family.folder / "inner" / "one.hip.cpp").write_text('#include "../other.hpp"\n')
    lines = compiled_lines(Builder(), plain_family(family.folder, "inner/one.hip.cpp"))
    assert lines[family.folder / "other.hpp"] == {2, 3, 4}


def test_lines_are_those_of_the_overlay(family: KernelFamily, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    overlay = tmp_path / "overlay"
    overlay.mkdir()
    (overlay / "other.hpp").write_text("// one line more\n" + RIGHT)
    monkeypatch.setenv("BITGATE_OVERLAY", str(overlay))
    monkeypatch.setenv("BITGATE_OVERLAY_ROOT", str(family.folder))
    assert compiled_lines(Builder(), family)[family.folder / "other.hpp"] >= {3, 4, 5}


def test_a_source_that_cannot_be_read_is_told(family: KernelFamily) -> None:
    (family.folder / "one.hip.cpp").write_text('#include "no_such.hpp"\n')
    with pytest.raises(BuildError, match=r"no_such\.hpp"):
        compiled_lines(Builder(), family)


def test_a_stand_in_is_watched_where_the_file_itself_is(family: KernelFamily, tmp_path: Path) -> None:
    wrong = tmp_path / "wrong.txt"
    wrong.write_text(OTHER)
    header, source = family.folder / "other.hpp", family.folder / "one.hip.cpp"
    assert complaints(Builder(), family, {}) == ""
    assert places(complaints(Builder(), family, {header: wrong})) == {(str(header), 3), (str(source), 4)}


def test_an_error_of_inlining_is_placed_where_it_was_inlined() -> None:
    said = (
        "In function '_cvtss_sh',\n    inlined from 'to_half' at /k/number.hpp:41:20:\n"
        "/usr/include/f16cintrin.h:62:41: error: the last argument must be an 8-bit immediate\n"
    )
    assert places(said) == {("/k/number.hpp", 41), ("/usr/include/f16cintrin.h", 62)}


def test_errors_of_nvcc_are_placed_with_what_asked_for_them() -> None:
    said = (
        '/k/rows.hpp(46): error: invalid narrowing conversion from "int" to "unsigned short"\n'
        '          detected during instantiation of "void rows<T>() [with T=float]" at line 12 of /k/one.hip.cpp\n'
    )
    assert places(said) == {("/k/rows.hpp", 46), ("/k/one.hip.cpp", 12)}
