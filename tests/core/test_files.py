"""Files that appear whole or not at all."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from bitgate.core.files import replacing, write_whole


def test_folders_are_made_and_nothing_else_is_left(tmp_path: Path) -> None:
    path = tmp_path / "a" / "b" / "plan.json"
    write_whole(path, "é")
    write_whole(path, b"two")
    assert path.read_bytes() == b"two"
    assert os.listdir(path.parent) == ["plan.json"]


def test_a_link_is_replaced_and_its_target_kept(tmp_path: Path) -> None:
    target = tmp_path / "target"
    target.write_text("kept")
    (tmp_path / "link").symlink_to(target)
    write_whole(tmp_path / "link", "new")
    assert target.read_text() == "kept"
    assert not (tmp_path / "link").is_symlink()


def test_an_incomplete_write_leaves_the_file_as_it_was(tmp_path: Path) -> None:
    path = tmp_path / "junit.xml"
    path.write_text("old")

    def fail() -> None:
        with replacing(path) as draft:
            draft.write_text("half")
            raise OSError("no space")

    with pytest.raises(OSError, match="no space"):
        fail()
    assert path.read_text() == "old"
    assert os.listdir(tmp_path) == ["junit.xml"]
