"""What is built again and what is not: content decides, never a time stamp."""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from ctypes import CDLL
from dataclasses import replace
from pathlib import Path

import pytest

from bitgate.core import paths
from bitgate.core.errors import UsageError
from bitgate.kernel.build import Builder, BuildError
from bitgate.kernel.cache import Cache
from bitgate.kernel.declaration import KernelFamily

Make = Callable[[], Builder]


def compiled(lines: list[str]) -> list[str]:
    """The units that the progress lines name as done."""
    return sorted(re.findall(r"\] pair (\w+) \.\.\. [\d.]+ s", "\n".join(lines)))


def test_a_second_build_compiles_nothing(family: KernelFamily, make_builder: Make, lines: list[str]) -> None:
    path = make_builder().family(family)
    assert compiled(lines) == ["one", "two"]
    assert CDLL(str(path)).one() == 1
    lines.clear()
    assert make_builder().family(family) == path
    assert make_builder().find(family) == path
    assert lines == []


def test_a_changed_header_rebuilds_the_units_that_reach_it(
    family: KernelFamily, make_builder: Make, lines: list[str]
) -> None:
    first = make_builder().family(family)
    lines.clear()
    header = family.folder / "shared.hpp"
    state = header.stat()
    header.write_text("#define SHARED 7\n")
    os.utime(header, ns=(state.st_atime_ns, state.st_mtime_ns))
    second = make_builder().family(family)
    assert compiled(lines) == ["one"]
    assert (CDLL(str(first)).one(), CDLL(str(second)).one()) == (1, 7)


@pytest.mark.parametrize("variable", ["CPATH", "CPLUS_INCLUDE_PATH"])
def test_a_header_that_the_environment_names_is_a_header_like_any(
    family: KernelFamily, make_builder: Make, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, variable: str
) -> None:
    (family.folder / "shared.hpp").unlink()
    (family.folder / "one.hip.cpp").write_text((family.folder / "one.hip.cpp").read_text().replace('"shared', '"far'))
    for number in (1, 2):
        (tmp_path / str(number)).mkdir()
        (tmp_path / str(number) / "far.hpp").write_text(f"#define SHARED {number}\n")
        monkeypatch.setenv(variable, str(tmp_path / str(number)))
        assert CDLL(str(make_builder().family(family))).one() == number
    (tmp_path / "2" / "far.hpp").write_text("#define SHARED 3\n")
    assert CDLL(str(make_builder().family(family))).one() == 3


def test_so_is_one_of_a_folder_of_system_headers(family: KernelFamily, make_builder: Make, tmp_path: Path) -> None:
    (tmp_path / "far").mkdir()
    (family.folder / "shared.hpp").rename(tmp_path / "far" / "shared.hpp")
    family = replace(family, flags=("-isystem", str(tmp_path / "far")))
    assert CDLL(str(make_builder().family(family))).one() == 1
    (tmp_path / "far" / "shared.hpp").write_text("#define SHARED 7\n")
    assert CDLL(str(make_builder().family(family))).one() == 7


def test_a_new_file_that_is_found_first_is_read(family: KernelFamily, make_builder: Make, lines: list[str]) -> None:
    for name in ("near", "far"):
        (family.folder / name).mkdir()
    (family.folder / "shared.hpp").rename(family.folder / "far" / "shared.hpp")
    family = replace(family, include_dirs=("near", "far"))
    assert CDLL(str(make_builder().family(family))).one() == 1
    (family.folder / "near" / "shared.hpp").write_text("#define SHARED 7\n")
    assert CDLL(str(make_builder().family(family))).one() == 7
    (family.folder / "shared.hpp").write_text("#define SHARED 8\n")
    assert CDLL(str(make_builder().family(family))).one() == 8
    lines.clear()
    make_builder().family(family)
    assert lines == []


def test_going_back_to_an_old_content_costs_nothing(family: KernelFamily, make_builder: Make, lines: list[str]) -> None:
    header = family.folder / "shared.hpp"
    first = make_builder().family(family)
    header.write_text("#define SHARED 7\n")
    make_builder().family(family)
    lines.clear()
    header.write_text("#define SHARED 1\n")
    assert make_builder().family(family) == first
    assert lines == []


def test_a_touched_file_is_not_a_changed_one(family: KernelFamily, make_builder: Make, lines: list[str]) -> None:
    make_builder().family(family)
    lines.clear()
    os.utime(family.folder / "shared.hpp", (1, 1))
    make_builder().family(family)
    assert lines == []


def test_a_file_dated_in_the_future_is_built_like_any_other(
    family: KernelFamily, make_builder: Make, lines: list[str]
) -> None:
    os.utime(family.folder / "shared.hpp", (4e9, 4e9))
    path = make_builder().family(family)
    assert compiled(lines) == ["one", "two"]
    assert make_builder().family(family) == path


def test_an_overlay_rebuilds_what_reaches_the_replaced_file(
    family: KernelFamily, make_builder: Make, lines: list[str], tmp_path: Path
) -> None:
    plain = make_builder().family(family)
    lines.clear()
    fault = tmp_path / "fault.hpp"
    fault.write_text("#define SHARED 13\n")
    faulty = make_builder().family(family, {"shared.hpp": fault})
    assert compiled(lines) == ["one"]
    assert faulty != plain
    assert (CDLL(str(plain)).one(), CDLL(str(faulty)).one(), CDLL(str(faulty)).two()) == (1, 13, 2)
    lines.clear()
    assert make_builder().family(family, {"shared.hpp": fault}) == faulty
    assert make_builder().family(family) == plain
    assert lines == []
    assert not list(tmp_path.glob("cache/tmp/*")), "no shadow tree is left"


def test_an_overlay_of_a_header_in_the_kernels_room(family: KernelFamily, make_builder: Make, tmp_path: Path) -> None:
    from bitgate.core import paths

    name = "kernels/include/bitgate/abi.h"
    edited = tmp_path / "abi.h"
    edited.write_text((paths.root() / name).read_text() + '\nstatic_assert(false, "the edited header is reached");\n')
    with pytest.raises(BuildError, match="the edited header is reached"):
        make_builder().family(family, {name: edited})


@pytest.mark.parametrize(("name", "message"), [("absent.hpp", "no such file"), ("shared.hpp", "does not exist")])
def test_an_overlay_of_or_by_a_missing_file(
    family: KernelFamily, make_builder: Make, tmp_path: Path, name: str, message: str
) -> None:
    with pytest.raises(UsageError, match=f"cannot replace {name}: .*{message}"):
        make_builder().family(family, {name: tmp_path / "absent"})


def test_a_source_that_does_not_compile_says_where(family: KernelFamily, make_builder: Make) -> None:
    (family.folder / "two.hip.cpp").write_text("int two() { return three; }\n")
    with pytest.raises(
        BuildError, match=r"pair two does not build: .*two\.hip\.cpp:1:\d+: error: .three. was not"
    ) as e:
        make_builder().family(family)
    assert "three" in e.value.output


@pytest.mark.parametrize(
    ("line", "advice"),
    [
        (
            "void go() { one<<<1, 2>>>(3); }",
            r"cpp:2: error: <<<.*write hipLaunchKernelGGL\(one, 1, 2, 0, nullptr",
        ),
        ("extern __shared__ float tile[];", r"cpp:2: error: .*write HIP_DYNAMIC_SHARED\(float, tile\)"),
    ],
)
def test_hip_for_gpu_compilers_only_is_answered_with_a_line(
    family: KernelFamily, make_builder: Make, line: str, advice: str
) -> None:
    (family.folder / "two.hip.cpp").write_text(f"#include <hip/hip_runtime.h>\n{line}\n")
    with pytest.raises(BuildError, match=advice):
        make_builder().family(family)


def test_such_a_line_behind_an_if_for_gpus_harms_nobody(family: KernelFamily, make_builder: Make) -> None:
    guarded = "#ifdef __HIP_DEVICE_COMPILE__\nextern __shared__ float tile[];\n#endif\n"
    (family.folder / "shared.hpp").write_text(f"#define SHARED 1\n{guarded}")
    assert CDLL(str(make_builder().family(family))).one() == 1


def test_a_symbol_that_nobody_defines_fails_at_the_link(family: KernelFamily, make_builder: Make) -> None:
    (family.folder / "two.hip.cpp").write_text("int nobody();\nint two() { return nobody(); }\n")
    with pytest.raises(BuildError, match=r"pair does not build: .*undefined reference to `nobody\(\)'"):
        make_builder().family(family)


def test_a_family_for_another_platform_and_a_missing_source(family: KernelFamily, make_builder: Make) -> None:
    with pytest.raises(UsageError, match="not for platform host"):
        make_builder().family(replace(family, platforms=("amd",)))
    with pytest.raises(UsageError, match=r"three\.hip\.cpp does not exist"):
        make_builder().family(replace(family, sources=("three.hip.cpp",)))


def test_a_prebuilt_library_is_taken_as_it_is(family: KernelFamily, make_builder: Make) -> None:
    ready = replace(family, sources=(), library=Path("libready.so"))
    with pytest.raises(UsageError, match=r"libready\.so does not exist"):
        make_builder().family(ready)
    (family.folder / "libready.so").write_bytes(b"")
    assert make_builder().family(ready) == family.folder / "libready.so"


def test_a_damaged_cache_is_rebuilt(family: KernelFamily, make_builder: Make, tmp_path: Path) -> None:
    path = make_builder().family(family)
    for file in (tmp_path / "cache").rglob("*.json"):
        file.write_text("{")
    path.unlink()
    assert CDLL(str(make_builder().family(family))).one() == 1


def test_a_cache_that_cannot_be_written_is_named(family: KernelFamily, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(
        UsageError, match=r"the build cache .*file/build cannot be used: Not a directory; .*BITGATE_CACHE"
    ):
        Builder("host", print, cache=Cache(tmp_path / "file" / "build")).family(family)


@pytest.mark.parametrize("folder", ["/proc/nowhere/build", f"/tmp/{'x' * 300}/build"])
def test_a_cache_that_cannot_be_made_is_named(family: KernelFamily, folder: str) -> None:
    with pytest.raises(UsageError, match=r"the build cache .* cannot be used: .*BITGATE_CACHE"):
        Builder("host", print, cache=Cache(Path(folder))).family(family)


@pytest.mark.parametrize("stated", ["0", "-1", "two", "99999999999"])
def test_threads_are_a_number_that_the_runtime_takes(monkeypatch: pytest.MonkeyPatch, stated: str) -> None:
    monkeypatch.setenv("BITGATE_THREADS", stated)
    with pytest.raises(UsageError, match=f"BITGATE_THREADS={stated}: give a number from 1 to 1024"):
        paths.threads()


SLOW = "#include <regex>\n" * 1 + 'extern "C" int slow() { return std::regex_match("a", std::regex("a*")); }\n'
SCRIPT = """
import sys
from pathlib import Path
sys.path[:0] = [{harness!r}]
from bitgate.kernel.build import Builder
from bitgate.kernel.cache import Cache
from bitgate.kernel.declaration import KernelFamily
family = KernelFamily("slow", (), ("host",), (), Path({folder!r}), ("slow.hip.cpp",))
Builder("host", lambda line: print(line, flush=True), cache=Cache(Path({cache!r}))).family(family)
"""


def test_ctrl_c_ends_the_compiler_and_leaves_no_half_artefact(tmp_path: Path) -> None:
    import bitgate

    (tmp_path / "slow.hip.cpp").write_text(SLOW)
    harness = str(Path(bitgate.__file__).parent.parent)
    script = SCRIPT.format(harness=harness, folder=str(tmp_path), cache=str(tmp_path / "cache"))
    child = subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert child.stdout is not None
    assert "building slow" in child.stdout.readline()
    time.sleep(0.3)  # the compiler runs by now, and needs over a second
    child.send_signal(signal.SIGINT)
    _, errors = child.communicate(timeout=20)
    assert child.returncode != 0
    assert "KeyboardInterrupt" in errors
    assert not list((tmp_path / "cache").glob("objects/*"))
    assert not list((tmp_path / "cache").glob("libraries/*"))
    assert not [path for path in (tmp_path / "cache" / "tmp").iterdir() if path.suffix in (".o", ".so")]


def test_two_processes_share_the_work(family: KernelFamily, tmp_path: Path) -> None:
    import bitgate

    script = (
        SCRIPT.format(
            harness=str(Path(bitgate.__file__).parent.parent), folder=str(family.folder), cache=str(tmp_path / "cache")
        )
        .replace('("slow.hip.cpp",)', '("one.hip.cpp", "two.hip.cpp")')
        .replace("Builder(", "Builder.runtime = lambda self: Path('/lib/x86_64-linux-gnu/libm.so.6')\nBuilder(", 1)
    )
    children = [
        subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        for _ in range(2)
    ]
    ends = [child.communicate(timeout=60) for child in children]
    assert [child.returncode for child in children] == [0, 0], ends
    assert len(list((tmp_path / "cache").glob("objects/*.o"))) == 2
    assert len(list((tmp_path / "cache").glob("libraries/*/*.so"))) == 1


def test_what_nobody_used_for_long_is_removed(tmp_path: Path) -> None:
    cache = Cache(tmp_path)
    old, recent, shadow = (
        tmp_path / "objects" / "old.o",
        tmp_path / "objects" / "recent.o",
        tmp_path / "tmp" / "1.shadow",
    )
    for path in (old, recent, shadow / "file"):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("")
    for path in (old, recent, shadow):
        os.utime(path, (1, 1))
    assert cache.used(recent), "asking for it is a use"
    cache.prune()
    assert [path.exists() for path in (old, recent, shadow)] == [False, True, False]


def _artefacts(tmp_path: Path, pattern: str) -> list[Path]:
    return [path for path in (tmp_path / "cache").glob(pattern) if path.suffix != ".sha256"]


@pytest.mark.parametrize("pattern", ["libraries/*/*", "objects/*"])
@pytest.mark.parametrize(
    "damage", [lambda data: data[: len(data) // 2], lambda data: data[:-9] + b"\x5a" + data[-8:], bytes]
)
def test_a_cut_or_flipped_artefact_is_built_again_with_a_line(
    family: KernelFamily,
    make_builder: Make,
    tmp_path: Path,
    capfd: pytest.CaptureFixture[str],
    pattern: str,
    damage: Callable[[bytes], bytes],
) -> None:
    whole = make_builder().family(family).read_bytes()
    paths = _artefacts(tmp_path, pattern)
    for path in paths:
        path.write_bytes(damage(path.read_bytes()))
    if pattern == "objects/*":  # objects are looked at when there is something to link
        for path in _artefacts(tmp_path, "libraries/*/*"):
            path.unlink()
    capfd.readouterr()
    assert make_builder().family(family).read_bytes() == whole
    said = capfd.readouterr().err.count("damaged in the cache (its hash is another): built again")
    assert said == (0 if damage is bytes else len(paths))


def test_a_lost_or_odd_hash_beside_an_artefact(
    family: KernelFamily, make_builder: Make, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    library = make_builder().family(family)
    seal = library.with_name(library.name + ".sha256")
    seal.unlink()  # a cache of before there were hashes
    seal_again = make_builder().family(family)
    assert seal_again == library
    os.utime(library, (1, 1))  # looked at anew
    assert make_builder().family(family) == library
    assert seal.is_file()
    seal.write_bytes(b"\xff\xfe")
    os.utime(library, (2, 2))
    make_builder().family(family)
    assert "damaged in the cache" in capfd.readouterr().err


@pytest.mark.parametrize("text", ["[]", "3", '{"entries": 3}', '{"entries": [3, {}, {"files": 3, "object": "../x"}]}'])
def test_odd_files_in_a_cache_are_as_good_as_none(
    family: KernelFamily, make_builder: Make, tmp_path: Path, text: str
) -> None:
    library = make_builder().family(family)
    for path in (tmp_path / "cache").rglob("*.json"):
        path.write_text(text)
    assert make_builder().family(family) == library


def test_a_cache_that_is_complete_need_not_be_written(
    family: KernelFamily, make_builder: Make, lines: list[str], tmp_path: Path
) -> None:
    library = make_builder().family(family)
    lines.clear()
    for name in ("tmp", "locks"):  # what a folder that cannot be written does to whoever makes a file in it
        shutil.rmtree(tmp_path / "cache" / name)
        (tmp_path / "cache" / name).write_text("")
    (tmp_path / "cache" / "hashes.json").unlink(missing_ok=True)
    assert make_builder().family(family) == library
    assert not lines
    (family.folder / "shared.hpp").write_text("#define SHARED 2\n")
    with pytest.raises(UsageError, match=r"the build cache .* cannot be used: .*BITGATE_CACHE"):
        make_builder().family(family)


def test_a_generated_unit_needs_no_file(family: KernelFamily, make_builder: Make, lines: list[str]) -> None:
    """Its text is part of the key; what it includes is looked up in the family's folder."""
    text = '#include "bitgate/abi.h"\n#include "shared.hpp"\nextern "C" BITGATE_EXPORT int three() { return SHARED; }\n'
    with_three = replace(family, sources=(*family.sources, "three.hip.cpp"), generated={"three.hip.cpp": text})
    first = make_builder().family(with_three)
    assert compiled(lines) == ["one", "three", "two"]
    assert CDLL(str(first)).three() == 1
    lines.clear()
    assert make_builder().family(with_three) == first
    assert lines == []
    other = replace(with_three, generated={"three.hip.cpp": text.replace("return", "return 2 +")})
    second = make_builder().family(other)
    assert compiled(lines) == ["three"]
    assert CDLL(str(second)).three() == 3


def test_a_replaced_header_reaches_a_generated_unit(
    family: KernelFamily, make_builder: Make, lines: list[str], tmp_path: Path
) -> None:
    text = '#include "bitgate/abi.h"\n#include "shared.hpp"\nextern "C" BITGATE_EXPORT int three() { return SHARED; }\n'
    generated = replace(family, sources=("three.hip.cpp",), generated={"three.hip.cpp": text})
    make_builder().family(generated)
    lines.clear()
    seeded = tmp_path / "seeded.hpp"
    seeded.write_text("#define SHARED 9\n")
    assert CDLL(str(make_builder().family(generated, {"shared.hpp": seeded}))).three() == 9
    assert compiled(lines) == ["three"]


def test_errors_of_a_generated_unit_name_its_file(family: KernelFamily, make_builder: Make) -> None:
    generated = replace(family, sources=("three.hip.cpp",), generated={"three.hip.cpp": "int three() { return no; }\n"})
    with pytest.raises(BuildError, match=r"generated/\w+/three\.hip\.cpp:1") as caught:
        make_builder().family(generated)
    named = re.search(r"(\S+/three\.hip\.cpp):1", str(caught.value))
    assert named is not None
    assert Path(named[1]).read_text() == "int three() { return no; }\n"


def test_whether_all_is_built_is_told_and_nothing_built(
    family: KernelFamily, lines: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    builder = Builder(progress=lines.append)
    builder.runtime()
    builder.native()
    assert builder.is_built()
    text = (family.folder / "shared.hpp").read_text()
    (family.folder / "shared.hpp").write_text(f"{text}\n// {family.folder}\n")  # which no earlier test has built
    lines.clear()
    assert not builder.is_built(family)
    assert lines == []
    builder.family(family)
    assert builder.is_built(family)
    assert not builder.is_built(family, replace(family, sources=(), library=Path("no_such.so")))
    monkeypatch.setenv("BITGATE_QUICK_BUILD", "1")
    assert not builder.is_built(family)
