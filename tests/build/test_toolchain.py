"""Which compiler is used, and what is said when there is none."""

from __future__ import annotations

from pathlib import Path

import pytest

from bitgate.core.errors import UsageError
from bitgate.kernel.build import toolchain
from bitgate.kernel.build.flags import host_compile
from bitgate.kernel.build.toolchain import find_hip_compiler, find_host_compiler
from bitgate.kernel.cache import Cache


def program(folder: Path, name: str, says: str, code: int = 0) -> Path:
    path = folder / name
    path.write_text(f"#!/bin/sh\necho '{says}'\nexit {code}\n")
    path.chmod(0o755)
    return path


@pytest.fixture
def bare(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A machine with no compiler: an empty PATH."""
    folder = tmp_path / "bin"
    folder.mkdir()
    monkeypatch.setenv("PATH", str(folder))
    monkeypatch.delenv("CXX", raising=False)
    monkeypatch.setenv("ROCM_PATH", str(tmp_path / "rocm"))
    monkeypatch.setattr(toolchain, "_zig_command", lambda: None)
    return folder


def test_without_a_compiler_the_error_says_what_to_install(bare: Path, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"no C\+\+20 compiler found: .*apt-get install g\+\+.*pip install ziglang"):
        find_host_compiler(Cache(tmp_path / "cache"))
    with pytest.raises(UsageError, match=r"no HIP compiler found .*rocm/bin\): install ROCm, or .*hipcc"):
        find_hip_compiler(Cache(tmp_path / "cache"))


def test_old_and_broken_compilers_are_passed_over(bare: Path, tmp_path: Path) -> None:
    program(bare, "g++", "g++ (GCC) 9.4.0")
    program(bare, "clang++", "broken", code=1)
    with pytest.raises(UsageError, match=r"\(g\+\+ 9\.4\.0 is older than 11; clang\+\+ does not run\)"):
        find_host_compiler(Cache(tmp_path / "cache"))
    program(bare, "clang++-19", "Debian clang version 19.1.4\nInstalledDir: /usr/lib/llvm-19/bin")
    found = find_host_compiler(Cache(tmp_path / "cache"))
    assert (found.kind, found.name) == ("clang", "clang++-19 19.1.4")
    assert "InstalledDir" not in found.version, "the key must hold on any machine"


def test_cxx_is_used_or_refused_by_name(bare: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    cache = Cache(tmp_path / "cache")
    program(bare, "my-g++", "g++ (Debian 12.2.0-14) 12.2.0\nFree Software Foundation")
    monkeypatch.setenv("CXX", "my-g++ -pipe")
    assert find_host_compiler(cache).command == (str(bare / "my-g++"), "-pipe")
    monkeypatch.setenv("CXX", "absent-g++")
    with pytest.raises(UsageError, match=r"CXX=absent-g\+\+: no such program"):
        find_host_compiler(cache)
    program(bare, "old", "g++ (GCC) 8.3.0")
    monkeypatch.setenv("CXX", "old")
    with pytest.raises(UsageError, match="older than 11"):
        find_host_compiler(cache)


def test_a_replaced_compiler_is_asked_again(bare: Path, tmp_path: Path) -> None:
    cache = Cache(tmp_path / "cache")
    program(bare, "g++", "g++ (GCC) 12.2.0")
    first = find_host_compiler(cache)
    program(bare, "g++", "g++ (GCC) 13.10.0")
    assert (first.version, find_host_compiler(cache).version) == ("g++ (GCC) 12.2.0", "g++ (GCC) 13.10.0")


def test_flags_that_one_compiler_lacks_are_kept_from_it() -> None:
    assert "-fno-gnu-unique" in host_compile("gnu")
    assert "-fno-gnu-unique" not in host_compile("clang")
    assert "-fno-sanitize=undefined" in host_compile("zig")
    assert all({"-ffp-contract=off", "-U_FORTIFY_SOURCE"} <= {*host_compile(kind)} for kind in ("gnu", "clang", "zig"))
