"""docs/first_kernel.md from an empty folder: its files are written and its commands typed, one after the other."""

from __future__ import annotations

import re
import shlex
from typing import Any

import pytest

from bitgate.core import paths

DOCUMENT = (paths.root() / "docs" / "first_kernel.md").read_text()
SECTIONS = {text.partition("\n")[0]: text for text in re.split(r"^## ", DOCUMENT, flags=re.MULTILINE)[1:]}
TYPED = {title: text for title, text in SECTIONS.items() if re.search(r"^    bitgate ", text, re.MULTILINE)}


def files_in(text: str) -> dict[str, str]:
    """Return the fenced files by the path that the first line names."""
    return dict(re.findall(r"^```\w+\n(?:#|//) (\S+)\n(.*?)^```", text, re.MULTILINE | re.DOTALL))


def commands_in(text: str) -> list[str]:
    indented = re.findall(r"^    ((?:bitgate|cd) .*)$", text, re.MULTILINE)
    within = re.findall(r"`(bitgate (?:compile|run) [^`]*)`", text)
    return [*indented, *within]


@pytest.mark.parametrize("title", TYPED)
def test_what_a_tutorial_types_works(empty: Any, title: str) -> None:
    for path, text in files_in(TYPED[title]).items():
        empty.write(path, text)
    folder = "."
    for line in commands_in(TYPED[title]):
        program, *words = shlex.split(line, comments=True)
        if program == "cd":
            folder = words[0]
            continue
        stated = re.search(r"  # exit code (\d)$", line)
        done = empty.bitgate(*words, below=folder)
        assert done.code == (int(stated[1]) if stated else 0), f"{words}: {done.said}"


def test_the_tutorials_are_those_of_the_document() -> None:
    assert len(TYPED) == 5
    assert set(files_in(DOCUMENT)) == {"mine/gemm.cu", "mine/declaration.py"}
