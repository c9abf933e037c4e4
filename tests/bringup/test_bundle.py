"""The bundle: bounded, scrubbed, and without any user's name."""

from __future__ import annotations

import os
import resource
import tarfile
from pathlib import Path

import pytest

from bitgate.core.errors import UsageError
from bitgate.lab.bringup.bundle import LARGEST, Bundle
from bitgate.lab.bringup.scrub import Scrubber

SCRUBBER = Scrubber(users=("lovelace",), folders=(("/nfs/lovelace", "~"),))


def read(path: Path) -> dict[str, bytes]:
    with tarfile.open(path) as tar:
        members = tar.getmembers()
        assert {(one.uid, one.uname, one.gname) for one in members} == {(0, "", "")}
        files = ((one.name.removeprefix("first_contact/"), tar.extractfile(one)) for one in members)
        return {name: file.read() for name, file in files if file}


def test_texts_are_scrubbed_and_steps_are_there_at_once(tmp_path: Path) -> None:
    bundle = Bundle(tmp_path / "out" / "b.tar.gz", SCRUBBER)
    bundle.begin()
    assert bundle.journal({"step": "doctor", "sentence": "by lovelace"}) == ""
    journal = tmp_path / "out" / "b.steps.jsonl"
    assert journal.read_text() == '{"step": "doctor", "sentence": "by USER"}\n'
    bundle.text("a.txt", "g++ -I/nfs/lovelace/include")
    size = bundle.write("# Summary for lovelace\n")
    assert size == bundle.path.stat().st_size
    assert not journal.exists()
    files = read(bundle.path)
    assert files["a.txt"] == b"g++ -I~/include"
    assert files["summary.md"] == b"# Summary for USER\n"
    assert files["steps.jsonl"].startswith(b'{"step": "doctor"')


def test_only_known_binary_files_go_in_and_none_with_a_name(tmp_path: Path) -> None:
    bundle = Bundle(tmp_path / "b.tar.gz", SCRUBBER)
    bundle.file("good.npy", b"\x93NUMPY\xff")
    bundle.file("telling.co", b"\x7fELF /nfs/lovelace/x.cpp")
    bundle.file("core.1234", b"\x7fELF\xff\xfe")
    bundle.write("")
    files = read(bundle.path)
    assert files.keys() == {"good.npy", "summary.md"}
    assert "- telling.co: holds a user name" in files["summary.md"].decode()
    assert "- core.1234: neither text nor one of .npy" in files["summary.md"].decode()


def test_what_does_not_fit_is_listed(tmp_path: Path) -> None:
    bundle = Bundle(tmp_path / "b.tar.gz", SCRUBBER)
    for number in range(3):
        bundle.file(f"{number}.npy", os.urandom(7 << 20))  # noise: nothing compresses it
    bundle.text("long.txt", "begin" + 5_000_000 * "x" + "end")
    assert bundle.write("") <= LARGEST
    files = read(bundle.path)
    assert {"0.npy", "1.npy"} < files.keys()
    assert "- 2.npy: 7340032 bytes: the bundle holds 16 MiB at most" in files["summary.md"].decode()
    assert "- long.txt: 805704 characters from its middle" in files["summary.md"].decode()
    assert files["long.txt"].startswith(b"begin")
    assert files["long.txt"].endswith(b"end")


def test_a_full_disk_leaves_no_half_of_a_bundle(tmp_path: Path) -> None:
    bundle = Bundle(tmp_path / "b.tar.gz", SCRUBBER)
    bundle.begin()
    bundle.file("noise.npy", os.urandom(4096))
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (512, limits[1]))
    try:
        assert bundle.journal({"step": "doctor", "sentence": "x" * 600}).endswith("b.steps.jsonl: File too large")
        with pytest.raises(OSError, match="File too large"):
            bundle.write("")
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert [path.name for path in tmp_path.iterdir()] == ["b.steps.jsonl"]


def test_a_full_disk_is_an_error_and_no_half_of_a_file(tmp_path: Path) -> None:
    bundle = Bundle(Path("/dev/full"), SCRUBBER)
    bundle.begin()
    assert bundle.journal({"step": "doctor"}) == ""
    with pytest.raises(OSError, match="No space left"):
        bundle.write("")
    with pytest.raises(UsageError, match="is a folder: name a file"):
        Bundle(tmp_path, SCRUBBER).begin()
    folder = Bundle(tmp_path / "file" / "b.tar.gz", SCRUBBER)
    (tmp_path / "file").write_text("")
    with pytest.raises(OSError, match="exists"):
        folder.begin()
