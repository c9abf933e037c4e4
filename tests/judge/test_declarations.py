"""A submission's declaration decides nothing about how it is judged."""

from __future__ import annotations

import os
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from bitgate.core.errors import UsageError
from bitgate.kernel import DeviceSource, Instance, KernelFamily
from bitgate.model import DTYPES, Accumulation
from bitgate.tools.judge.conventions import names_in
from bitgate.tools.judge.declared import accumulations, restrained, why_not_built
from bitgate.tools.judge.device_code import is_device_only
from bitgate.tools.judge.run import JudgeRequest, judge

HERE = Path(__file__).parent
FAMILY = KernelFamily(
    name="mine",
    operations=("gemm",),
    sources=("gemm.cu",),
    source=DeviceSource(("gemm",), launches=lambda *_: ()),
    platforms=("host", "amd", "nvidia"),
    instances=(Instance("f16", "gemm", ("f16",), ("rcr",), (0,), Accumulation(DTYPES["f16"]), rounds_slices=True),),
)


@pytest.mark.parametrize(
    "stated",
    [
        {"flags": ("-fplugin=./mine.so",)},
        {"flags": {"nvidia": ("-ccbin=./mine",), "host": ()}},
        {"flags": ("-wrapper", "sh,-c,true")},
        {"flags": ("@words",)},
        {"flags": ("-Wl,-plugin,mine.so",)},
        {"libraries": ("a,-plugin,mine.so/libx.so",)},
        {"sources": ("a b.cu",)},
        {"defines": {"A": "1\nint x;"}},
    ],
)
def test_nothing_of_it_runs_in_a_compiler(stated: dict[str, Any]) -> None:
    assert why_not_built(replace(FAMILY, **stated), HERE)


@pytest.mark.parametrize("flag", ["-O3", "-DTILE=16", "--use_fast_math", "-maxrregcount=64", "-std=c++17", "-Wall"])
def test_plain_flags_are_taken(flag: str) -> None:
    assert not why_not_built(replace(FAMILY, flags=(flag,)), HERE)


@pytest.mark.parametrize("name", ["/dev/zero", "/dev/urandom", "pipe.hpp", "zero.hpp", "deeper.hpp", "long.hpp"])
def test_what_has_no_end_is_not_given_to_a_compiler(name: str, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.hpp")
    (tmp_path / "zero.hpp").symlink_to("/dev/zero")
    (tmp_path / "deeper.hpp").write_text('#include "pipe.hpp"\n')
    with (tmp_path / "long.hpp").open("wb") as file:
        file.truncate(1 << 40)  # takes no room
    (tmp_path / "gemm.cu").write_text(f'#include <vector>\n#include "{name}"\n')
    assert "which is no regular file of at most 16 MiB" in why_not_built(FAMILY, tmp_path)
    (tmp_path / "gemm.cu").write_text("#include <vector>\n#include <cuda_runtime.h>\n")
    assert not why_not_built(FAMILY, tmp_path)


def test_contract_and_excuses_are_the_judges() -> None:
    stated = replace(FAMILY, changes=("threads",), is_probe=True, is_reference=True)
    judged = restrained(stated)
    (instance,) = judged.instances
    assert instance.accumulation == {"f16": Accumulation(DTYPES["f32"])}
    assert (instance.rounds_slices, judged.changes, judged.is_probe, judged.is_reference) == (False, (), False, False)
    assert accumulations(("i8_i8_i32",))["i8_i8_i32"].accumulator.name == "i32"


def test_device_code_is_alone_where_bitgate_can_launch_it() -> None:
    module = replace(FAMILY, sources=("gemm.hsaco",))
    assert [is_device_only(FAMILY, one) for one in ("host", "amd", "nvidia")] == [False, False, True]
    assert [is_device_only(module, one) for one in ("host", "amd", "nvidia")] == [False, True, True]
    assert not is_device_only(replace(FAMILY, source=None), "nvidia")


def test_sums_in_fewer_bits_are_wrong_whatever_is_stated(tmp_path: Path) -> None:
    folder = Path(shutil.copytree(HERE / "coarse_source", tmp_path / "mine"))
    request = JudgeRequest(folder, "gemm_f16_m64n64k512", problems=1)
    report = judge(request, lambda one, verdict: None, lambda line: None)
    assert (report["verdict"], report["exit"]) == ("wrong", 1)
    assert report["summary"]["outcomes"]["MISMATCH"] >= 1


@pytest.mark.parametrize(
    ("old", "new", "why"),
    [
        ("FAMILY =", "raise SystemExit(0)\nFAMILY =", "its file does not load: "),
        ("def supports", "def supports(*_):\n    1 / 0\n\n\ndef others", "declaration.py:8: ZeroDivisionError"),
    ],
)
def test_a_declaration_that_fails_is_wrong(old: str, new: str, why: str, tmp_path: Path) -> None:
    folder = Path(shutil.copytree(HERE / "coarse_source", tmp_path / "mine"))
    text = (folder / "declaration.py").read_text()
    assert old in text
    (folder / "declaration.py").write_text(text.replace(old, new, 1))
    request = JudgeRequest(folder, "gemm_f16_m64n64k512", problems=1)
    report = judge(request, lambda one, verdict: None, lambda line: None)
    assert (report["verdict"], report["exit"]) == ("wrong", 1)
    assert why in report["diagnosis"]
    assert "/judged/" not in report["diagnosis"]  # the file around it that bitgate wrote


def test_a_declaration_whose_runtime_is_not_here_is_no_verdict(tmp_path: Path) -> None:
    folder = Path(shutil.copytree(HERE / "coarse_source", tmp_path / "mine"))
    text = (folder / "declaration.py").read_text()
    (folder / "declaration.py").write_text(text.replace("\n\n", "\n\nimport cupy\n\n", 1))
    with pytest.raises(UsageError, match="needs the module cupy, which is not installed here"):
        judge(JudgeRequest(folder, "gemm_f16_m64n64k512", problems=1), lambda one, verdict: None, lambda line: None)


def test_a_kernel_for_other_platforms_is_no_verdict(tmp_path: Path) -> None:
    """A compiled module, say: none runs on a host."""
    folder = Path(shutil.copytree(HERE / "gpu" / "module", tmp_path / "mine"))
    (folder / "softmax.cubin").touch()
    with pytest.raises(UsageError, match="its kernels are for nvidia: name a target of these"):
        judge(JudgeRequest(folder, "gemm_f16_m64n64k512", problems=1), lambda one, verdict: None, lambda line: None)


def test_a_pipe_in_place_of_a_file_is_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "s.py")
    with pytest.raises(UsageError, match="no regular file"):
        names_in(tmp_path / "s.py")
    (tmp_path / "zero.py").symlink_to("/dev/zero")
    with pytest.raises(UsageError, match="no regular file"):
        names_in(tmp_path / "zero.py")
