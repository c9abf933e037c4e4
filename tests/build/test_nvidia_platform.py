"""The nvidia platform builds without a GPU: its runtime exports what the host's does."""

from __future__ import annotations

import shutil
import subprocess

import pytest

from bitgate import rooms
from bitgate.build import Builder
from bitgate.errors import UsageError


@pytest.mark.skipif(shutil.which("nvcc") is None, reason="needs nvcc")
def test_the_runtime_exports_exactly_the_listed_functions() -> None:
    library = Builder("nvidia", arch="sm_90").runtime()
    table = subprocess.run(["nm", "-D", "--defined-only", str(library)], capture_output=True, text=True, check=True)
    exported = {line.split()[2] for line in table.stdout.splitlines()}
    listed = (rooms.room("kernels") / "platforms" / "hip_api.txt").read_text().splitlines()
    assert {name for name in exported if name.startswith("hip")} == {x for x in listed if x and not x.startswith("#")}


def test_without_nvcc_the_error_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/nowhere")
    monkeypatch.setenv("CUDA_HOME", "/nowhere")
    with pytest.raises(UsageError, match=r"no CUDA compiler found .* install the CUDA toolkit"):
        Builder("nvidia", arch="sm_90").runtime()
