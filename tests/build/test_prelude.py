"""A header compiled once for many units: the same objects, sooner, and never those of another header."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from bitgate.core.project import own_kernels
from bitgate.kernel.build import flags
from bitgate.kernel.build.queue import compile_all
from bitgate.kernel.build.source_tree import SourceTree
from bitgate.kernel.build.toolchain import find_host_compiler
from bitgate.kernel.build.unit import Prelude, TranslationUnit, UnitStore, prelude_of_kernels
from bitgate.kernel.cache import Cache
from bitgate.kernel.cache.content import Contents

pytestmark = pytest.mark.skipif(shutil.which("g++") is None, reason="no g++: others get no prelude")

HEADER = (
    "#pragma once\n#include <algorithm>\ntemplate <class T> T largest(T a, T b) { return std::max(a, b) + ADDED; }\n"
)


@pytest.fixture
def unit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> TranslationUnit:
    """A unit that includes nothing: all that it needs is in its prelude."""
    monkeypatch.setenv("CXX", "g++")
    folder = tmp_path / "sources"
    folder.mkdir()
    header, source = folder / "begin.hpp", folder / "unit.cpp"
    header.write_text(HEADER.replace("ADDED", "1"))
    source.write_text('extern "C" int unit(int a) { return largest(a, 2); }\n')
    kind = find_host_compiler().kind
    begin = Prelude(header, ())
    return TranslationUnit("unit", source, (folder,), flags.host_library(kind), find_host_compiler(), prelude=begin)


@pytest.fixture
def store(tmp_path: Path) -> Callable[..., UnitStore]:
    def make(name: str, overlay: dict[Path, Path] | None = None) -> UnitStore:
        cache = Cache(tmp_path / name)
        contents = Contents(cache, {str(real): str(other) for real, other in (overlay or {}).items()})
        return UnitStore(cache, contents, SourceTree(cache, (tmp_path / "sources",), overlay or {}))

    return make


def built(unit: TranslationUnit, store: UnitStore, headers: UnitStore | None = None) -> tuple[bytes, list[str]]:
    """The object, and what was compiled for it."""
    done: list[str] = []
    first = {unit.header: headers} if headers is not None and unit.header is not None else {}
    keys = compile_all({**first, unit: store}, 1, lambda one, _: done.append(one.label))
    return store.object_path(keys[unit]).read_bytes(), done


def test_a_precompiled_header_gives_the_same_object(unit: TranslationUnit, store: Callable[..., UnitStore]) -> None:
    plain, done = built(unit, store("text"))
    assert done == ["unit"]
    compiled, done = built(unit, store("compiled"), store("compiled"))
    assert done == ["header begin.hpp", "unit"]
    assert compiled == plain
    assert store("text").lookup(unit) == store("compiled").lookup(unit)


def test_the_files_of_the_header_are_the_units(unit: TranslationUnit, store: Callable[..., UnitStore]) -> None:
    one = store("one")
    built(unit, one, one)
    assert unit.prelude is not None
    assert str(unit.prelude.source) in one.reached(unit)


def test_an_edited_header_is_read_as_it_is_now(unit: TranslationUnit, store: Callable[..., UnitStore]) -> None:
    before, _ = built(unit, store("one"), store("one"))
    assert unit.prelude is not None
    unit.prelude.source.write_text(HEADER.replace("ADDED", "77"))
    assert store("one").lookup(unit) is None
    after, done = built(unit, store("one"))
    assert done == ["unit"]
    assert after != before
    assert (after, ["unit"]) == built(unit, store("fresh"))


def test_a_replaced_header_is_not_taken_from_the_compiled_one(
    unit: TranslationUnit, store: Callable[..., UnitStore], tmp_path: Path
) -> None:
    before, _ = built(unit, store("one"), store("one"))
    assert unit.prelude is not None
    other = tmp_path / "other.hpp"
    other.write_text(HEADER.replace("ADDED", "77"))
    replaced, _ = built(unit, store("one", {unit.prelude.source: other}), store("one"))
    assert replaced != before
    unit.prelude.source.write_text(other.read_text())
    assert replaced == built(unit, store("fresh"))[0]


def test_a_damaged_compiled_header_is_not_used(unit: TranslationUnit, store: Callable[..., UnitStore]) -> None:
    before, _ = built(unit, store("one"), store("one"))
    (compiled,) = (store("one").cache.folder / "objects").glob("*.gch")
    compiled.write_bytes(compiled.read_bytes()[:1000])
    for path in (store("one").cache.folder / "objects").glob("*.o"):
        path.unlink()
    assert built(unit, store("one"))[0] == before


def test_headers_of_long_ago_are_removed(unit: TranslationUnit, store: Callable[..., UnitStore]) -> None:
    assert unit.prelude is not None
    for added in range(4):
        unit.prelude.source.write_text(HEADER.replace("ADDED", str(added)))
        built(unit, store("one"), store("one"))
    assert len(list((store("one").cache.folder / "objects").glob("*.gch"))) == 2
    assert len(list((store("one").cache.folder / "objects").glob("*.o"))) == 4


def test_only_kernels_of_ours_begin_with_one(tmp_path: Path) -> None:
    assert prelude_of_kernels("gnu", own_kernels() / "reduction", ()) is not None
    assert prelude_of_kernels("gnu", tmp_path, ()) is None
    assert prelude_of_kernels("clang", own_kernels() / "reduction", ()) is None
