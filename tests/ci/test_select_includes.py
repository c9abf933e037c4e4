"""What C++ sources are made of: which families an edit reaches, and which translation units of a family."""

from __future__ import annotations

import subprocess
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

import pytest

from bitgate.core.project import own_kernels
from bitgate.kernel.build import flags
from bitgate.kernel.build.builder import Builder
from bitgate.kernel.build.includes import FamiliesByFile, Includes, places
from bitgate.kernel.build.unit import read_depfile
from bitgate.kernel.registry import families


@cache
def by_file() -> FamiliesByFile:
    return FamiliesByFile(families().values())


def reached(file: str) -> set[str]:
    return set(by_file().of(own_kernels().parent / file))


def test_a_header_of_all_reaches_all() -> None:
    assert reached("kernels/include/bitgate/abi.h") == set(families())


def test_a_shared_header_reaches_those_that_include_it() -> None:
    weights = {name for name in families() if "bwd_weight" in name}
    assert reached("kernels/include/bitgate/implicit_gemm/bwd_weight/geometry.hpp") <= weights


def test_a_header_reaches_who_includes_it_through_another() -> None:
    shared = "kernels/include/bitgate/implicit_gemm/bwd_data/fill.hpp"
    assert {"grouped_bwd_data", "nongrouped_bwd_data"} <= reached(shared)


def test_a_family_includes_nobodys_private_header() -> None:
    assert reached("kernels/grouped_bwd_data/dispatch.hpp") == {"grouped_bwd_data"}


def test_what_no_kernel_includes_reaches_none() -> None:
    assert reached("kernels/platforms/host/runtime/stream.cpp") == set()


@pytest.mark.parametrize("family", families())
def test_whatever_the_compiler_reads_is_followed(family: str) -> None:
    """The library's own unit, and one of its instances'. Code for other compilers, in an #if, comes on top."""
    declaration = families()[family]
    compiler = Builder("host").compiler
    command = [*compiler.command, *flags.host_kernel(compiler.kind), "-MM", "-MT", "unit", "-x", "c++"]
    command += [f"-I{place}" for place in (*places("host"), declaration.folder)]
    known = {unit.name: unit.files for unit in Includes().units(declaration)}
    for source in {declaration.sources[0], declaration.sources[-1]}:
        text = declaration.generated.get(source)
        read = [*command, str(declaration.folder / source) if text is None else "-"]
        done = subprocess.run(read, input=text, capture_output=True, text=True, check=True)
        files = {Path(name).resolve() for name in read_depfile(done.stdout) if name != "-"}
        ours = {path for path in files if path.is_relative_to(own_kernels().resolve())}
        assert len(ours) > 10
        assert ours <= known[source.partition(".")[0]]


@dataclass(frozen=True)
class Mine:
    """A family of an owner's, as far as its sources go."""

    folder: Path
    sources: tuple[str, ...]
    generated: Mapping[str, str] = field(default_factory=dict)
    name: str = "mine"


def test_a_unit_is_made_of_what_it_includes_and_no_other(tmp_path: Path) -> None:
    for name, text in {"f16.hip.cpp": '#include "half.hpp"', "f32.hip.cpp": "", "half.hpp": "", "all.hpp": ""}.items():
        (tmp_path / name).write_text(f"#  include <all.hpp>\n{text}\n" if name.endswith("cpp") else text)
    library = Mine(tmp_path, ("f16.hip.cpp", "f32.hip.cpp", "made.hip.cpp"), {"made.hip.cpp": '#include "half.hpp"'})
    made_of = {unit.name: {path.name for path in unit.files} for unit in Includes(where=()).units(library)}
    assert made_of == {
        "f16": {"f16.hip.cpp", "half.hpp", "all.hpp"},
        "f32": {"f32.hip.cpp", "all.hpp"},
        "made": {"half.hpp"},
    }


def test_a_missing_include_is_ignored_unless_it_existed_before(tmp_path: Path) -> None:
    (tmp_path / "a.hip.cpp").write_text('#include "shadow.hpp"\n')
    library = Mine(tmp_path, ("a.hip.cpp",))
    gone = tmp_path / "shadow.hpp"
    assert FamiliesByFile([library], where=()).of(gone) == ()
    (unit,) = Includes(gone=[gone], where=()).units(library)
    assert gone in unit.files, "another header of that name may be what is included now"
