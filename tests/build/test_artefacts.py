"""Built once: libraries that another machine built are taken from a store, and never for more than what they are."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from tests.plain_family import plain_family

from bitgate.cli.main import run
from bitgate.core.errors import UsageError
from bitgate.core.project import ours
from bitgate.kernel import registry
from bitgate.kernel.build import Builder
from bitgate.kernel.build.artefacts import Artefacts
from bitgate.kernel.cache import Cache
from bitgate.kernel.cache.folder import file_hash
from bitgate.kernel.declaration import KernelFamily
from bitgate.kernel.errors import LibraryError
from bitgate.kernel.examine import examine
from bitgate.results.build_manifest import BuildManifest, BuiltLibrary, strangers
from bitgate.results.record import Key, Outcome, Verdict, append
from bitgate.runtime.tools_abi import family as tools_family


class WithoutRuntime(Builder):
    """The family here uses no HIP: the runtime that it would be linked with is any library."""

    def runtime(self) -> Path:
        return Path("/lib/x86_64-linux-gnu/libm.so.6")


@dataclass
class Lab:
    """A store, and machines with a cache each."""

    folder: Path
    url: str
    said: list[str] = field(default_factory=list)

    def machine(self, name: str, **kind: Any) -> Builder:
        artefacts = Artefacts(self.url, progress=self.said.append, **kind)
        return WithoutRuntime("host", self.said.append, cache=Cache(self.folder / name), artefacts=artefacts)

    @property
    def builder(self) -> Builder:
        builder = self.machine("builder", pushes=True)
        assert builder.artefacts
        builder.artefacts.store.make()
        return builder

    def files(self, pattern: str) -> list[Path]:
        return sorted((self.folder / "store").glob(pattern))

    def edit_entry(self, **changes: Any) -> None:
        (entry,) = self.files("index/*/*.json")
        entry.write_text(json.dumps(json.loads(entry.read_text()) | changes))


@pytest.fixture
def lab(tmp_path: Path) -> Lab:
    return Lab(tmp_path, str(tmp_path / "store"))


@pytest.fixture
def no_compiler(monkeypatch: pytest.MonkeyPatch) -> Callable[[], None]:
    return lambda: monkeypatch.setenv("CXX", "no-such-compiler")


def test_a_machine_without_a_compiler_runs_what_another_built(lab: Lab, family: KernelFamily, no_compiler) -> None:
    built = lab.builder.family(family)
    no_compiler()
    node = lab.machine("node")
    fetched = node.family(family)
    assert fetched.read_bytes() == built.read_bytes()
    assert fetched.is_relative_to(lab.folder / "node")
    assert lab.said[-1].startswith("fetched ")


def test_a_second_store_is_filled_from_the_same_cache(lab: Lab, family: KernelFamily) -> None:
    """What a builder took from one store, or put there, is not thereby in another."""
    lab.builder.family(family)
    lab.builder.family(family)  # fetched, now
    (lab.folder / "store").rename(lab.folder / "another")
    built = lab.builder.family(family)
    assert [path.read_bytes() for path in lab.files("libraries/*/*")] == [built.read_bytes()]


def test_what_was_fetched_is_not_asked_for_again(lab: Lab, family: KernelFamily, no_compiler) -> None:
    lab.builder.family(family)
    no_compiler()
    fetched = lab.machine("node").family(family)
    (lab.folder / "store").rename(lab.folder / "away")
    assert lab.machine("node").family(family) == fetched
    assert "no such folder" not in "".join(lab.said)


def test_the_fingerprint_names_the_compiler_that_built_it(lab: Lab, family: KernelFamily, no_compiler) -> None:
    builder = lab.builder
    line = builder.compiler_line(family, builder.family(family))
    no_compiler()
    node = lab.machine("node")
    assert node.compiler_line(family, node.family(family)) == line


@pytest.mark.parametrize("reached", ["one.hip.cpp", "shared.hpp"])
def test_edited_sources_are_another_library(lab: Lab, family: KernelFamily, reached: str) -> None:
    """A header, too, that only the compiler knows to be reached."""
    lab.builder.family(family)
    path = family.folder / reached
    path.write_text(path.read_text() + "// edited\n")
    with pytest.raises(UsageError, match=r"holds no whole pair for host of these sources: build it with `bitgate comp"):
        lab.machine("node", only=True).family(family)
    assert lab.machine("node").family(family)  # built here
    assert any(line.startswith("building ") for line in lab.said)


@pytest.mark.parametrize("spoil", [lambda data: data[:-1], lambda data: bytes([data[0] ^ 1]) + data[1:], lambda _: b""])
def test_a_flipped_byte_in_the_store_is_told_and_built_again(lab: Lab, family: KernelFamily, spoil) -> None:
    built = lab.builder.family(family)
    (stored,) = lab.files("libraries/*/*")
    stored.write_bytes(spoil(stored.read_bytes()))
    with pytest.raises(UsageError, match="holds no whole pair for host"):
        lab.machine("strict", only=True).family(family)
    assert f"{lab.url}/{stored.relative_to(lab.folder / 'store')}: pair is damaged" in lab.said[-1]
    assert lab.machine("node").family(family).read_bytes() == built.read_bytes()
    lab.machine("other builder", pushes=True).family(family)  # and fixes it
    assert stored.read_bytes() == built.read_bytes()


def test_a_fetched_library_that_was_damaged_is_fetched_again(lab: Lab, family: KernelFamily, no_compiler) -> None:
    built = lab.builder.family(family)
    no_compiler()
    fetched = lab.machine("node").family(family)
    fetched.write_bytes(b"no library")
    assert lab.machine("node").family(family).read_bytes() == built.read_bytes()


@pytest.mark.parametrize(
    ("lie", "said"),
    [
        ({"target": "gfx942"}, "not used: it is of 'gfx942' instead of 'host'"),
        ({"label": "other"}, "not used: it is of 'other' instead of 'pair'"),
        ({"wanted": "0" * 32}, "not used: it is of '0000"),
        ({"schema": 2}, "not used: it is of 2 instead of 1"),
        ({"sha256": "0" * 64}, "is gone from the store: not used"),
        ({"sha256": "../../../etc/passwd"}, "not used: Expected 'str' matching regex"),
        ({"file": "../escaped.so"}, "not used: "),
        ({"size": 1}, "is damaged"),
    ],
)
def test_an_entry_that_lies_is_not_believed(lab: Lab, family: KernelFamily, lie: dict[str, Any], said: str) -> None:
    lab.builder.family(family)
    lab.edit_entry(**lie)
    with pytest.raises(UsageError, match="holds no whole pair for host"):
        lab.machine("node", only=True).family(family)
    assert said in lab.said[-1]
    assert not list(lab.folder.rglob("*escaped*"))


def test_an_entry_of_another_library_brings_no_wrong_bytes(lab: Lab, family: KernelFamily, tmp_path: Path) -> None:
    """Where the hash that an entry states is another library's, which the store has whole, loading sees it."""
    builder = lab.builder
    builder.family(family)
    (entry,) = lab.files("index/*/*.json")
    other = builder.family(plain_family(family.folder, "two.hip.cpp", name="other"))
    stated = next(p for p in lab.files("libraries/*/*") if p.read_bytes() == other.read_bytes())
    entry.write_text(json.dumps(json.loads(entry.read_text()) | {"sha256": stated.name, "size": stated.stat().st_size}))
    fetched = lab.machine("node", only=True).family(family)
    with pytest.raises(LibraryError):
        examine(fetched, family, None, "host", Cache(tmp_path / "node"))


def test_a_silent_store_is_reported_once_and_libraries_built(lab: Lab, family: KernelFamily) -> None:
    node = lab.machine("node")  # the folder was never made
    assert node.family(family)
    assert node.family(plain_family(family.folder, "two.hip.cpp", name="other"))
    assert [line for line in lab.said if "no such folder" in line] == [
        f"{lab.url}: no such folder: what it holds is built here"
    ]
    with pytest.raises(UsageError, match="no such folder: pair for host cannot be looked for"):
        lab.machine("strict", only=True).family(family)


def test_an_object_store_is_as_good_as_a_folder(lab: Lab, family: KernelFamily, no_compiler) -> None:
    lab.url = f"memory://{lab.folder.name}"
    built = lab.builder.family(family)
    no_compiler()
    assert lab.machine("node", only=True).family(family).read_bytes() == built.read_bytes()


def test_builders_at_once_leave_one_library_that_all_nodes_take(lab: Lab, family: KernelFamily) -> None:
    first = lab.builder
    others = [first, *(lab.machine(f"builder {n}", pushes=True) for n in range(2))]
    with ThreadPoolExecutor() as pool:
        list(pool.map(lambda builder: builder.family(family), others))
    taken = {lab.machine(f"node {n}", only=True).family(family).read_bytes() for n in range(3)}
    assert len(taken) == 1
    assert not [path for path in lab.files("**/*") if path.is_file() and path.suffix not in (".json", "")]


@pytest.mark.parametrize(
    ("url", "said"),
    [("nosuch://lab/artefacts", "nosuch"), ("s3://lab/artefacts", "s3fs")],
)
def test_a_url_that_needs_a_package_says_which(url: str, said: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["compile", "--target", "host", "--artefacts", url]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert url in line
    assert said in line


def test_fetch_only_without_a_store_is_refused(monkeypatch: pytest.MonkeyPatch, capsys) -> None:
    monkeypatch.setenv("BITGATE_ARTEFACTS", "")
    assert run(["run", "--fetch-only"]) == 2
    assert "BITGATE_FETCH_ONLY is set, and BITGATE_ARTEFACTS is not" in capsys.readouterr().err
    assert "BITGATE_FETCH_ONLY" not in os.environ


def test_a_run_without_a_compiler_is_green_with_fetched_builds(tmp_path: Path) -> None:
    """The whole of it: built into a store, run from an empty cache on a machine on which nothing can be compiled, and
    what ran is what the manifest says."""
    store, manifest, out = tmp_path / "store", tmp_path / "built.json", tmp_path / "out"
    kernel = ["--target", "host", "--kernel", "naive_reduction*"]
    _bitgate("compile", "--tier", "smoke", *kernel, "--artefacts", str(store), "--manifest", str(manifest))
    asked = ["--tier", "smoke", *kernel, "-n0", "-k", "sum", "--artefacts", str(store), "--fetch-only"]
    empty = {"BITGATE_CACHE": str(tmp_path / "cache"), "BITGATE_OUT": str(out), "CXX": "no-such-compiler", "PATH": ""}
    said = _bitgate("run", *asked, **empty)
    assert "bitgate: GREEN" in said
    (library,) = [one for one in BuildManifest.read(manifest).libraries if one.family == "naive_reduction"]
    lines = map(json.loads, (out / "host" / "results.jsonl").read_text().splitlines())
    assert {line["fingerprint"]["build"] for line in lines} == {library.sha256[:16]}
    assert not list((tmp_path / "cache" / "build").glob("objects/*"))


def test_cases_that_are_watched_for_races_find_their_library(tmp_path: Path) -> None:
    store = ["--artefacts", str(tmp_path / "store")]
    asked = ["--tier", "smoke", "--target", "host", "--kernel", "reduction.f32_wave"]
    assert "reduction_f32 (race)" in _bitgate("compile", *asked, *store)
    empty = {"BITGATE_CACHE": str(tmp_path / "cache"), "BITGATE_OUT": str(tmp_path / "out"), "CXX": "no-such-compiler"}
    said = _bitgate("run", *asked, "-n0", "-k", "exact_race", *store, "--fetch-only", **empty)
    assert "bitgate: GREEN: 4 verdicts" in said


@pytest.mark.nightly
@pytest.mark.needs("hipcc")
def test_gpu_libraries_need_no_gpu_to_build_no_compiler_to_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With the references and the tools that a GPU's cases are verified with."""
    store, manifest = str(tmp_path / "store"), tmp_path / "built.json"
    asked = ["--target", "gfx90a", "--kernel", "naive_reduction*"]
    _bitgate("compile", *asked, "--artefacts", store, "--manifest", str(manifest))
    built = {library.family: library for library in BuildManifest.read(manifest).libraries}
    assert sorted(built) == ["device_tools", "naive_conv", "naive_reduction", "native"]
    for name, value in {"PATH": "", "ROCM_PATH": "/none", "CXX": "no-such-compiler"}.items():
        monkeypatch.setenv(name, value)
    artefacts = Artefacts(store, only=True)
    node = Builder("amd", arch="gfx90a", cache=Cache(tmp_path / "cache"), artefacts=artefacts)
    every = registry.families(ours(), "gfx90a")
    for family in (every["naive_reduction"], every["naive_conv"], tools_family()):
        assert file_hash(node.family(family)) == built[family.name].sha256


def test_a_night_proves_that_it_ran_what_was_built_for_it(tmp_path: Path) -> None:
    key = Key("gemm_f16_rcr_b1m8n8k8", "toy", "f16", (), "exact", 0, "forward", "gfx942")
    append(tmp_path / "results.jsonl", Verdict(key, Outcome.PASS, fingerprint={"build": "ab" * 8, "commit": "c0ffee"}))
    for digest, code in (("ab" * 32, 0), ("cd" * 32, 1)):
        library = BuiltLibrary("toy", "gfx942", "libtoy.so", "", digest, 10, "hipcc 6.4")
        BuildManifest("gfx942", "c0ffee", (library,)).write(tmp_path / "built.json")
        asked = [str(tmp_path / "results.jsonl"), "--built", str(tmp_path / "built.json"), "--out", str(tmp_path / "m")]
        assert run(["ci", "merge", *asked]) == code
    assert "toy ran as abababababababab, which is not what was built for it" in (tmp_path / "m/summary.md").read_text()


def test_a_folder_without_manifests_proves_nothing(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    key = Key("gemm_f16_rcr_b1m8n8k8", "toy", "f16", (), "exact", 0, "forward", "gfx942")
    append(tmp_path / "results.jsonl", Verdict(key, Outcome.PASS, fingerprint={"build": "ab" * 8, "commit": "c0ffee"}))
    (tmp_path / "store").mkdir()
    asked = [str(tmp_path / "results.jsonl"), "--built", str(tmp_path / "store"), "--out", str(tmp_path / "m")]
    assert run(["ci", "merge", *asked]) == 2
    assert "store: holds no built-*.json: it would prove nothing" in capsys.readouterr().err


def _bitgate(*arguments: str, **environment: str) -> str:
    done = subprocess.run(
        [sys.executable, "-m", "bitgate", *arguments],
        capture_output=True,
        text=True,
        env={**os.environ, **environment},
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_a_manifest_tells_what_was_not_built_for_the_run(tmp_path: Path) -> None:
    library = BuiltLibrary("toy", "gfx942", "libtoy.so", "", "ab" * 32, 10, "hipcc 6.4")
    BuildManifest("gfx942", "c0ffee", (library,)).write(tmp_path / "built.json")
    built = BuildManifest.read(tmp_path / "built.json")
    assert built.libraries == (library,)
    ran = [("toy", "ab" * 8), ("toy", "cd" * 8), ("callable", "ef" * 8)]
    assert list(strangers("gfx942", ran, [built])) == [("toy", "cd" * 8)]
    assert list(strangers("gfx1201", ran, [built])) == []


def test_a_damaged_manifest_is_refused_in_one_line(tmp_path: Path) -> None:
    (tmp_path / "built.json").write_text('{"schema": 1')
    with pytest.raises(UsageError, match=r"built.json: not JSON: .*; write it with `bitgate compile --artefacts URL"):
        BuildManifest.read(tmp_path / "built.json")
