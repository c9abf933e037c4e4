"""Several libraries are compiled in one queue."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest

from bitgate.kernel.build import BuildError, flags
from bitgate.kernel.build.queue import Lacking, compile_lacking, lacking
from bitgate.kernel.build.recipe import Recipe
from bitgate.kernel.build.source_tree import SourceTree
from bitgate.kernel.build.toolchain import find_host_compiler
from bitgate.kernel.build.unit import TranslationUnit, UnitStore
from bitgate.kernel.cache import Cache
from bitgate.kernel.cache.content import Contents

Make = Callable[..., Lacking]


@pytest.fixture
def cache(tmp_path: Path) -> Cache:
    return Cache(tmp_path / "cache")


@pytest.fixture
def library(cache: Cache, tmp_path: Path) -> Make:
    """What a library lacks, of units with these texts: written in files, or generated."""
    compiler = find_host_compiler()

    def make(label: str, generated: bool = False, **texts: str) -> Lacking:
        folder = tmp_path / label
        folder.mkdir(exist_ok=True)
        units = []
        for name, text in texts.items():
            source = folder / f"{name}.cpp"
            if not generated:
                source.write_text(text)
            units.append(
                TranslationUnit(
                    f"{label} {name}",
                    source,
                    (),
                    flags.host_library(compiler.kind),
                    compiler,
                    text if generated else None,
                )
            )
        recipe = Recipe(label, f"lib{label}.so", tuple(units), (), compiler, (folder,))
        store = UnitStore(cache, Contents(cache), SourceTree(cache, (folder,), {}))
        return lacking(recipe, store, {unit: store.lookup(unit) for unit in units})

    return make


def labels(lines: list[str]) -> list[str]:
    return re.findall(r"\] (.+?) \.\.\. [\d.]+ s", "\n".join(lines))


@pytest.fixture(autouse=True)
def _one_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BITGATE_THREADS", "1")


def test_what_takes_longest_comes_first_whoever_needs_it(library: Make, cache: Cache) -> None:
    """A unit that registers instances is a few lines, and takes longer than a file of many."""
    texts = {"long": "int a;" + "\n" * 500, "short": "int b;\n"}
    written = library("written", **texts)
    registers = library("registers", generated=True, few="int c;\n", many="int d; int e;\n")
    lines: list[str] = []
    keys = compile_lacking([written, registers], cache, lines.append)
    assert lines[0].startswith("building written, registers: 4 of 4 units")
    assert labels(lines) == ["registers many", "registers few", "written long", "written short"]
    assert set(keys) == {*written.units, *registers.units}
    lines.clear()
    assert (
        compile_lacking([library("written", long="int a;" + "\n" * 500, short="int b;\n")], cache, lines.append) == {}
    )
    assert lines == [], "all of it is there"


def test_what_does_not_compile_ends_its_own_library_alone(library: Make, cache: Cache) -> None:
    broken = library("broken", worse="no C++" + "\n" * 500, fine="int a;\n")
    sound = library("sound", one="int b;\n", two="int c;\n")
    lines: list[str] = []
    keys = compile_lacking([broken, sound], cache, lines.append, goes_on=True)
    assert set(keys) == set(sound.units)
    assert sorted(labels(lines)) == ["sound one", "sound two"]
    with pytest.raises(BuildError, match="broken worse does not build"):
        compile_lacking([broken, library("other", three="int d;\n")], cache, lines.append)
