"""Images are pinned and run without rights, and the flags that give them GPUs are the documented ones."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest

from bitgate.core import paths
from bitgate.lab.ci.forges import DEVICE_FLAGS

DOCKERFILES = sorted((paths.data_folder("ci") / "containers").glob("*.Dockerfile"))
each = pytest.mark.parametrize("path", DOCKERFILES, ids=lambda path: path.name)
KNOWN = {"FROM", "RUN", "ENV", "USER", "WORKDIR", "COPY"}
DOCUMENT = paths.root() / "docs" / "containers.md"


def _instructions(text: str) -> list[tuple[str, str]]:
    """Name and arguments of each, its lines joined."""
    lines = [line for line in text.splitlines() if line.strip() and not line.startswith("#")]
    joined = re.sub(r"\\\n\s*", "", "\n".join(lines))
    return [(name, arguments) for name, _, arguments in (line.partition(" ") for line in joined.splitlines())]


def _is_pinned(image: str) -> bool:
    """By digest, or by a tag that names a whole release."""
    tag = image.partition("@")[0].rpartition(":")[2]
    return bool(re.search(r"@sha256:[0-9a-f]{64}$", image) or re.match(r"\d+\.\d+\.\d+\b", tag))


@pytest.mark.parametrize(
    ("image", "pinned"),
    [
        ("python:3.11.14-slim", True),
        ("python:3.11-slim", False),
        ("python:latest", False),
        ("python", False),
        (f"lab/python@sha256:{'0' * 64}", True),
        ("lab/python@sha256:00ff", False),
    ],
)
def test_what_counts_as_pinned(image: str, pinned: bool) -> None:
    assert _is_pinned(image) == pinned


def test_there_is_one_for_cpus_and_one_for_amd() -> None:
    assert [path.name for path in DOCKERFILES] == ["cpu.Dockerfile", "rocm.Dockerfile"]


@each
def test_an_image_is_pinned_and_ends_without_rights(path: Path) -> None:
    instructions = _instructions(path.read_text())
    assert {name for name, _ in instructions} <= KNOWN
    (base,) = [arguments for name, arguments in instructions if name == "FROM"]
    assert _is_pinned(base)
    users = [arguments for name, arguments in instructions if name == "USER"]
    assert users == ["ci"]
    # Who installs packages is root; what comes after is the user's.
    place = instructions.index(("USER", "ci"))
    assert not any("apt-get" in arguments for _, arguments in instructions[place:])


@each
def test_every_shell_line_parses_and_leaves_no_package_lists(path: Path) -> None:
    for name, arguments in _instructions(path.read_text()):
        if name == "RUN":
            assert shlex.split(arguments)
            assert ("apt-get install" in arguments) == ("rm -rf /var/lib/apt/lists/*" in arguments)


def test_the_rocm_image_has_a_hip_python_of_its_rocm() -> None:
    text = DOCKERFILES[1].read_text()
    rocm = re.search(r"^FROM \S+:(\d+\.\d+)\.", text, re.MULTILINE)
    hip = re.search(r"hip-python==(\d+\.\d+)\.\*", text)
    assert rocm is not None
    assert hip is not None
    assert rocm[1] == hip[1]


def test_the_document_tells_the_flags_that_jobs_are_given() -> None:
    amd, nvidia = re.findall(r"^docker run (.*) IMAGE", DOCUMENT.read_text(), re.MULTILINE)
    assert tuple(amd.split()) == DEVICE_FLAGS["amd"]
    assert tuple(nvidia.split()) == DEVICE_FLAGS["nvidia"]
    told = re.findall(r"^\| `(\S+=\S+)`", DOCUMENT.read_text(), re.MULTILINE)
    assert [f"--{name}" for name in told] == list(DEVICE_FLAGS["amd"])


def test_gitlabs_runner_is_told_the_same() -> None:
    block = re.search(r"```toml\n(.*?)```", DOCUMENT.read_text(), re.DOTALL)
    assert block is not None
    for flag in DEVICE_FLAGS["amd"]:
        name, _, value = flag.removeprefix("--").partition("=")
        assert value.removeprefix("memlock=") in block[1], name
