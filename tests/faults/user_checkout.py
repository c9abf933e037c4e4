"""A user's checkout of the example weighted_sums, in which a test runs commands about its defects."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from bitgate.core import paths

PATIENCE_SECONDS = 300
SOURCE = Path("kernels") / "weighted_sums" / "weighted_sums.hip.cpp"


@dataclass
class UserCheckout:
    """The checkout in ``folder``; ``words`` begin each command after ``bitgate faults``."""

    folder: Path
    words: tuple[str, ...]
    environment: dict[str, str] = field(default_factory=dict)

    def start(self, *arguments: str, **environment: str) -> subprocess.Popen[str]:
        path = os.pathsep.join([str(Path(paths.__file__).parents[2]), os.environ.get("PYTHONPATH", "")])
        place = {"PYTHONPATH": path, "BITGATE_OUT": str(self.folder / "out")} | self.environment
        command = [sys.executable, "-m", "bitgate", "faults", *self.words, *arguments]
        pipe = subprocess.PIPE
        return subprocess.Popen(
            command, cwd=self.folder, env={**os.environ, **place, **environment}, stdout=pipe, stderr=pipe, text=True
        )

    def run(self, *arguments: str, **environment: str) -> tuple[int, str, str]:
        process = self.start(*arguments, **environment)
        out, err = process.communicate(timeout=PATIENCE_SECONDS)
        return process.returncode, out, err


def example_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a copy of the example."""
    folder = tmp_path_factory.mktemp("owner") / "weighted_sums"
    shutil.copytree(paths.root() / "examples" / "weighted_sums", folder)
    return folder


def edited(text: str, edits: Mapping[str, str]) -> str:
    """Return a text with each edit made at its only place."""
    for find, replace in edits.items():
        assert text.count(find) == 1
        text = text.replace(find, replace)
    return text
