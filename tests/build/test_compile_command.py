"""``bitgate compile``: what it builds, and how it fails."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from bitgate.cli.main import run

DECLARATION = """
from pathlib import Path
from bitgate.kernel.declaration import Instance, KernelFamily
from bitgate.problem import Pass
from bitgate.problem.accumulation import F32_ACCUMULATION

FAMILY = KernelFamily(
    name="mine",
    operations=(Pass.FWD,),
    sources=("mine.hip.cpp",),
    folder=Path(__file__).parent,
    platforms=("host",),
    instances=(Instance("only", "mine", ("f32",), ("nhwgc",), (2,), F32_ACCUMULATION),),
    options=(),
    supports=lambda problem, instance, options: None,
    dispatch=lambda problem, instance, options: None,
)
"""


@pytest.fixture
def mine(tmp_path: Path) -> list[str]:
    """Options that name a user's family."""
    (tmp_path / "declaration.py").write_text(DECLARATION)
    (tmp_path / "mine.hip.cpp").write_text("#include <hip/hip_runtime.h>\n__global__ void nothing() {}\n")
    return ["--load", str(tmp_path / "declaration.py"), "--kernel", "mine"]


def test_a_users_family_is_built_beside_the_runtime(mine: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["compile", "--target", "host", "--json", *mine]) == 0
    objects = json.loads(capsys.readouterr().out)["objects"]
    assert [built["kernel"] for built in objects] == ["runtime", "mine"]
    for built in objects:
        assert Path(built["path"]).read_bytes()[:4] == b"\x7fELF"
        assert {"vgprs", "sgprs", "lds", "scratch", "spills", "wavefront"} <= built.keys()


def test_a_kernel_that_does_not_compile_is_a_defect(
    mine: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "mine.hip.cpp").write_text("__global__ void nothing() {\n")
    assert run(["compile", "--target", "host", "--json", *mine]) == 1
    (failure,) = json.loads(capsys.readouterr().out)["failures"]
    assert failure["kernel"] == "mine"
    assert "mine.hip.cpp:1" in failure["reason"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--target", "gfx94"], "did you mean gfx942"),
        (["--target", "sm_90"], "none of mine is for sm_90"),
        (["--target", "host", "--kernel", "mien"], "no kernel matches 'mien'; did you mean 'mine'?"),
        (["--target", "gfx90a"], "none of mine is for gfx90a"),
    ],
)
def test_what_cannot_be_built_is_the_users_error(
    mine: list[str], arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["compile", *mine, *arguments]) == 2
    assert message in capsys.readouterr().err
