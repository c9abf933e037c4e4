"""The fixture ``bitgate`` in plain tests of a user: no conftest, no case table, no options."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

from junitparser import JUnitXml

from bitgate.core import paths
from bitgate.results.record import Outcome, Verdict, read

DOCUMENT = (paths.root() / "docs" / "api.md").read_text()
PLUGIN = ["-p", "bitgate.pytest_plugin", "-p", "no:cacheprovider", "-p", "no:randomly"]
CASE = "gemm_f32_m3n5k7"


class Module:
    """A folder with a test module, run by pytest in a separate process."""

    def __init__(self, folder: Path, module: str) -> None:
        self.folder = folder
        (folder / "test_mine.py").write_text(module)

    def run(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        inherited = {n: v for n, v in os.environ.items() if not n.startswith(("PYTEST_", "BITGATE_OUT", "BITGATE_ST"))}
        path = os.pathsep.join([str(Path(paths.__file__).parents[2]), os.environ.get("PYTHONPATH", "")])
        return subprocess.run(
            [sys.executable, "-m", "pytest", "-q", "--rootdir=.", *PLUGIN, *arguments],
            cwd=self.folder,
            env=inherited | {"PYTHONPATH": path},
            capture_output=True,
            text=True,
            timeout=400,
            check=False,
        )

    @property
    def verdicts(self) -> list[Verdict]:
        return list(read(self.folder / "out" / "host" / "results.jsonl"))

    @property
    def junit(self) -> JUnitXml:
        return JUnitXml.fromfile(str(self.folder / "out" / "host" / "junit.xml"))


def test_the_document_s_tests_are_recorded_and_reported(tmp_path: Path) -> None:
    blocks = re.findall(r"```python\n# (\w+)\.py\n(.*?)```", DOCUMENT, re.DOTALL)
    assert [name for name, _ in blocks] == ["my_kernels", "test_mine"]
    (tmp_path / "my_kernels.py").write_text(blocks[0][1])
    mine = Module(tmp_path, blocks[1][1])
    done = mine.run("--strict-markers")
    assert done.returncode == 0, done.stdout + done.stderr
    functions, others = (
        [v for v in mine.verdicts if (v.key.name == "matmul.matmul") == same] for same in (True, False)
    )
    assert f"bitgate: GREEN: {5 + len(others)} verdicts on host" in done.stdout
    assert {v.outcome for v in mine.verdicts} == {Outcome.PASS}
    assert len({v.key.case for v in functions}) == 5, "one, and four of the suites"
    assert {v.tier for v in functions} == {""}
    assert {(v.key.kernel, v.tier) for v in others} == {("batched_gemm", "smoke")}
    assert {v.test for v in others} == {f"test_mine.py::test_tails[{k}]" for k in (1, 8, 33)}
    (suite,) = mine.junit
    assert (suite.tests, suite.failures, suite.errors) == (5 + len(others), 0, 0)
    assert suite.name == f"bitgate.{tmp_path.name}.host"


RED = f"""
import numpy as np

def matmul(problem, tensors):
    tensors["out"][...] = np.einsum("bmk,bnk->bmn", tensors["in"], tensors["wei"])

def forgets_a_column(problem, tensors):
    matmul(problem, tensors)
    tensors["out"][..., -1] = 0

def test_red(bitgate):
    bitgate.check("{CASE}", kernel=forgets_a_column, target="host")

def test_later(bitgate):
    verdict = bitgate.check(matmul, "{CASE}", target="host")
    assert not verdict.green, "wrong on purpose"

def test_other():
    pass
"""


def test_a_red_verdict_fails_with_sentence_cells_and_repro(tmp_path: Path) -> None:
    mine = Module(tmp_path, RED)
    done = mine.run()
    assert done.returncode == 1, done.stdout + done.stderr
    assert "3 of 15 cells of C are wrong" in done.stdout
    assert len(re.findall(r"^    b 0, m \d, n 4: 0 instead of", done.stdout, re.MULTILINE)) == 3
    red, contradicted = mine.verdicts
    assert (red.outcome, contradicted.outcome) == (Outcome.MISMATCH, Outcome.MISMATCH)
    assert f"repro   {red.repro}" in done.stdout
    assert "wrong on purpose" in contradicted.reason
    assert "2 failed, 1 passed" in done.stdout
    (suite,) = mine.junit
    assert (suite.tests, suite.failures) == (2, 2)
    again = subprocess.run(
        [sys.executable, "-m", *red.repro.split()], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert again.returncode == 1, again.stdout + again.stderr


USAGE = f"""
def test_unknown_kernel(bitgate):
    bitgate.check("{CASE}", kernel="naive_cnv", target="host")

def test_bad_case(bitgate):
    bitgate.check("gemm_f32_m3n5", kernel="batched_gemm", target="host")

def test_no_case(bitgate):
    bitgate.check(print, target="host")
"""


def test_what_cannot_be_asked_ends_with_2_and_one_line_each(tmp_path: Path) -> None:
    done = Module(tmp_path, USAGE).run()
    assert done.returncode == 2, done.stdout + done.stderr
    assert "no kernel matches 'naive_cnv'; did you mean 'naive_conv'?" in done.stdout
    assert "case 'gemm_f32_m3n5': expected" in done.stdout
    assert "give a case id and one kernel" in done.stdout
    assert "Traceback" not in done.stdout


REFUSED = """
POINTWISE = {load!r}

def test_as_stated(bitgate):
    verdict = bitgate.check({case!r}, kernel=POINTWISE, target="host", refused="pointwise")
    assert verdict.green and not verdict.compared

def test_unexpected(bitgate):
    bitgate.check({case!r}, kernel=POINTWISE, target="host")
"""


def test_a_refusal_is_red_unless_it_is_stated(tmp_path: Path) -> None:
    load = str(paths.root() / "examples" / "pointwise" / "declaration.py")
    mine = Module(tmp_path, REFUSED.format(load=load, case="bwd_data_f32_nhwgc_g1n1k2c3_y3x1_h5x7"))
    assert mine.run("-k", "as_stated").returncode == 3  # nothing was compared
    assert mine.run().returncode == 1
    assert [v.green for v in mine.verdicts] == [True, False]
    assert (tmp_path / "out" / "host" / "results.prev.jsonl").is_file()


def test_workers_of_xdist_share_one_record(tmp_path: Path) -> None:
    many = "".join(
        f"\ndef test_{k}(bitgate):\n    bitgate.check('gemm_f32_m3n5k{k}', kernel='batched_gemm', target='host')\n"
        for k in (3, 4, 5, 6)
    )
    mine = Module(tmp_path, many)
    done = mine.run("-n2", "-p", "xdist")
    assert done.returncode == 0, done.stdout + done.stderr
    assert len({v.test for v in mine.verdicts}) == 4
    assert len({v.run.job for v in mine.verdicts if v.run}) == 1
    assert "bitgate: GREEN" in done.stdout
    (suite,) = mine.junit
    assert suite.failures == 0


def test_a_run_without_the_fixture_is_left_alone(tmp_path: Path) -> None:
    mine = Module(tmp_path, "import pytest\n\n@pytest.mark.smoke\ndef test_nothing():\n    pass\n")
    code = "import sys, pytest; pytest.main(); print(*(m for m in sys.modules if m.startswith('bitgate')))"
    path = os.pathsep.join([str(Path(paths.__file__).parents[2]), os.environ.get("PYTHONPATH", "")])
    done = subprocess.run(
        [sys.executable, "-c", code.replace("main()", f"main({[*PLUGIN, '--strict-markers']!r})")],
        cwd=mine.folder,
        env=os.environ | {"PYTHONPATH": path},
        capture_output=True,
        text=True,
        check=True,
    )
    assert "1 passed" in done.stdout
    assert done.stdout.split("\n")[-2].split() == [
        "bitgate",
        "bitgate.core",
        "bitgate.core.suite_paths",
        "bitgate.pytest_plugin",
    ]
    assert not (tmp_path / "out").exists()
