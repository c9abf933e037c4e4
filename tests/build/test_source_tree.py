"""The shadow in which replaced sources are compiled."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from bitgate.kernel.build.source_tree import SourceTree
from bitgate.kernel.cache import Cache


def test_threads_share_one_shadow(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # With two, objects of replaced sources were stored under the other one's name and found by later clean builds.
    monkeypatch.setenv("BITGATE_CACHE", str(tmp_path / "cache"))
    folder = tmp_path / "kernels"
    folder.mkdir()
    for number in range(100):
        (folder / f"{number}.hpp").write_text("real")
    other = tmp_path / "other.hpp"
    other.write_text("replaced")
    tree = SourceTree(Cache(), [folder], {folder / "7.hpp": other})
    with ThreadPoolExecutor(8) as pool:
        prefixes = set(pool.map(lambda _: tree.prefix, range(64)))
    assert len(prefixes) == 1
    (prefix,) = prefixes
    assert Path(f"{prefix}{folder}/7.hpp").read_text() == "replaced"
    assert tree.real(f"{prefix}{folder}/8.hpp") == f"{folder}/8.hpp"
    tree.close()
    assert list((tmp_path / "cache").rglob("*.shadow")) == []


def test_sources_reach_what_lies_above_their_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BITGATE_CACHE", str(tmp_path / "cache"))
    for name in ("ours/a.hpp", "theirs/mine/k.cpp", "theirs/mine/k.hpp", "theirs/common/x.hpp", "theirs/common/y.hpp"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("real")
    (tmp_path / "other").write_text("replaced")
    mine, common = tmp_path / "theirs" / "mine", tmp_path / "theirs" / "common"
    for file, texts in ((mine / "k.hpp", ("replaced", "real")), (common / "x.hpp", ("real", "replaced"))):
        tree = SourceTree(Cache(), [tmp_path / "ours", mine], {file: tmp_path / "other"})
        shown = Path(f"{tree.prefix}{mine}")
        assert ((shown / "k.hpp").read_text(), (shown / "../common/x.hpp").read_text()) == texts
        assert (shown / "../common/y.hpp").read_text() == "real"
        tree.close()


def test_a_path_in_another_shadow_is_not_taken_for_a_source(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BITGATE_CACHE", str(tmp_path))
    cache = Cache()
    tree = SourceTree(cache, [], {tmp_path / "a": tmp_path / "b"})
    with pytest.raises(RuntimeError, match="not this build's shadow"):
        tree.real(str(cache.temporary(".shadow") / "kernels" / "a.hpp"))
