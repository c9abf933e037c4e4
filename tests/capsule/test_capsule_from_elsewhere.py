"""A capsule from elsewhere: it deletes and writes nothing outside its folder, and calls nothing but kernels."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from bitgate.cli.main import run
from bitgate.core.errors import UsageError
from bitgate.tools.capsule import folder
from bitgate.tools.capsule.folder import open_capsule
from bitgate.tools.capsule.manifest import Manifest
from bitgate.tools.capsule.playing import is_kernel, is_launcher

Edit = Callable[[Callable[[Any], None]], None]


@pytest.fixture
def precious(tmp_path: Path) -> Path:
    path = tmp_path / "precious.txt"
    path.write_text("keep me")
    return path


def _manifest(capsule: Path) -> Manifest:
    return open_capsule(capsule).manifest


@pytest.mark.parametrize(
    "name", ["../precious.txt", "{}/precious.txt", "..", "sub/in.npy", "in.npy\n", "-rf", ".in.npy", ""]
)
def test_a_file_that_is_not_in_the_folder_is_refused_and_stays(
    capsule: Path, edit: Edit, precious: Path, name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    manifest = _manifest(capsule)
    edit(lambda document: document["buffers"][0]["content"].update(file=name.format(precious.parent)))
    capsys.readouterr()
    assert run(["capsule", "replay", str(capsule)]) == 2
    assert capsys.readouterr().err.count("\n") == 1
    folder.write(capsule, manifest, {})
    assert precious.read_text() == "keep me"


def test_a_replaced_capsule_takes_its_own_files_only(capsule: Path, edit: Edit) -> None:
    manifest = _manifest(capsule)
    (capsule / "notes.npy").write_text("mine")
    edit(lambda document: document["buffers"][0]["content"].update(file="notes.npy"))
    folder.write(capsule, manifest, {})
    assert (capsule / "notes.npy").read_text() == "mine"
    assert not (capsule / "expected.npy").exists()


def test_writing_replaces_a_link_and_does_not_follow_it(capsule: Path, precious: Path) -> None:
    manifest = _manifest(capsule)
    for name in ("wei.npy", "manifest.json"):
        (capsule / name).unlink()
        (capsule / name).symlink_to(precious)
    folder.write(capsule, manifest, {"wei.npy": b"new"})
    assert precious.read_text() == "keep me"
    assert (capsule / "wei.npy").read_bytes() == b"new"


def test_writing_refuses_a_name_that_leaves_the_folder(capsule: Path, precious: Path) -> None:
    with pytest.raises(UsageError, match="cannot be a name in a path"):
        folder.write(capsule, _manifest(capsule), {"../precious.txt": b"new"})
    assert precious.read_text() == "keep me"


def _memset(document: Any, **fields: Any) -> None:
    place = {"buffer": document["buffers"][0]["name"], "offset": 0}
    document["steps"].append({"kind": "memset", "name": "m", "destination": place, "value": 0, "bytes": 4, **fields})


def _kernel(document: Any) -> Any:
    return next(step for step in document["steps"] if step["kind"] == "kernel")


@pytest.mark.parametrize(
    ("launcher", "symbol"),
    [
        ("bitgate_run", None),
        ("system", None),
        ("_ZN7bitgate6detail11note_launchIJEEEvv", None),
        (None, "bitgate_run"),
        (None, "abort"),
        (None, "_ZN7bitgate6detail8relaunchIJEEEiPK14bitgate_launchPKhPv"),
    ],
)
def test_only_launchers_and_kernels_of_the_library_are_called(
    capsule: Path, edit: Edit, launcher: str | None, symbol: str | None, capsys: pytest.CaptureFixture[str]
) -> None:
    def change(document: Any) -> None:
        _kernel(document).update({"launcher": launcher} if launcher else {"symbol": symbol})

    edit(change)
    assert run(["capsule", "replay", str(capsule), "--target", "host"]) == 2
    said = capsys.readouterr().err
    assert "is neither a launcher nor a kernel of" in said
    assert "Traceback" not in said


def test_launchers_and_kernels_have_names_of_their_own(capsule: Path) -> None:
    for step in _manifest(capsule).kernels:
        assert is_launcher(step.launcher)
        assert is_kernel(step.symbol)
        assert not is_kernel(step.launcher)
        assert not is_launcher(step.symbol)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda d: _kernel(d).update(grid=[0, 1, 1]), "launches a grid of"),
        (lambda d: _kernel(d).update(grid=[1 << 40, 1, 1]), "launches a grid of"),
        (lambda d: _kernel(d).update(block=[-64, 1, 1]), "launches blocks of"),
        (lambda d: _kernel(d).update(block=[1024, 2, 1]), "at most 1024 threads"),
        (lambda d: _kernel(d).update(lds_dynamic=-1), "bytes of LDS"),
        (lambda d: _kernel(d).update(lds_dynamic=1 << 40), "bytes of LDS"),
        (lambda d: _kernel(d).update(wave_size=7), "waves of 7 lanes"),
        (lambda d: _kernel(d)["kernarg"].update(explicit_bytes=1 << 20), "bytes of arguments in a segment of"),
        (lambda d: _kernel(d)["kernarg"].update(pointers=[]), "has pointers where its arguments are none"),
        (lambda d: _kernel(d)["kernarg"]["arguments"][0].update(size=1 << 20), "outside of its segment"),
        (lambda d: _kernel(d)["kernarg"]["pointers"][0]["target"].update(offset=-8), "reaches outside of buffer"),
        (
            lambda d: _kernel(d)["kernarg"].update(hex="ff" * _kernel(d)["kernarg"]["bytes"]),
            "has an address in its file",
        ),
        (lambda d: _memset(d, bytes=-1), "reaches outside of buffer"),
        (lambda d: _memset(d, value=256), "sets bytes to 256"),
        (lambda d: d["buffers"][-1].update(bytes=1 << 60), "bytes"),
        (lambda d: d["buffers"][0].update(alignment=3), "no power of two"),
        (lambda d: d["buffers"][0].update(alignment=0), "no power of two"),
        (lambda d: d["buffers"].append(d["buffers"][0]), "two buffers have one name"),
        (lambda d: d.update(target="../../x"), "is not a name"),
        (lambda d: d.update(family="../x"), "is not a name"),
        (lambda d: d.update(seed=-1), "its seed"),
    ],
)
def test_what_no_gpu_can_do_is_refused_before_anything_runs(
    capsule: Path, edit: Edit, change: Callable[[Any], None], words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    edit(change)
    assert run(["capsule", "replay", str(capsule), "--target", "host"]) == 2
    said = capsys.readouterr().err
    assert words in said
    assert said.count("\n") == 1


@pytest.mark.parametrize("text", ["", "[]", "[" * 9000, '{"schema": 1}', "\x00", '{"schema": "\\ud800"}', "1" * 9000])
def test_an_odd_manifest_is_one_line(capsule: Path, text: str, capsys: pytest.CaptureFixture[str]) -> None:
    (capsule / "manifest.json").write_text(text)
    assert run(["capsule", "replay", str(capsule)]) == 2
    assert capsys.readouterr().err.count("\n") == 1


def test_a_manifest_survives_its_checks(capsule: Path) -> None:
    assert json.loads((capsule / "manifest.json").read_text())["schema"] == _manifest(capsule).schema
