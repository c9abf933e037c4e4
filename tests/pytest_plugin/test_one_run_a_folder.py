"""Two runs in one folder, and caches that cannot be used: one line, the right exit code, and no mixed record."""

from __future__ import annotations

import subprocess
import time
from typing import Any

import pytest

from bitgate.core import paths


def test_the_second_run_in_a_folder_ends_with_2(suites: Any) -> None:
    suites.write(module=("check):", 'check):\n    time.sleep(1000 if "g2" in planned.case else 0)'))
    first = subprocess.Popen(
        suites.command(), cwd=suites.folder, env=suites.environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT
    )
    try:
        deadline = time.monotonic() + 200
        while not suites.is_at("g2") and first.poll() is None and time.monotonic() < deadline:
            time.sleep(0.05)
        before = suites.verdicts
        for more in ((), ("--resume",), ("-n1",)):
            second = suites.run(*more)
            said = second.stdout + second.stderr
            assert second.returncode == 2, said
            assert "another run writes here; wait for it, or set BITGATE_OUT to another folder" in said
            assert "Traceback" not in said
            assert "INTERNALERROR" not in said
        assert suites.verdicts == before
    finally:
        first.kill()
        first.communicate()
    suites.write()
    after = suites.run("--resume")
    assert after.returncode == 0, after.stdout + after.stderr  # what was under way when it was killed runs again
    assert suites.outcomes == ["PASS"] * 6


@pytest.mark.parametrize("text", ["", "{", "[]", '{"schema": 2, "machines": 3}', "\x00\x01"])
def test_a_damaged_table_of_durations_is_ignored_with_a_line(
    suites: Any, run_here: Any, monkeypatch: pytest.MonkeyPatch, text: str
) -> None:
    cache = suites.folder / "cache"
    (cache / "durations").mkdir(parents=True)
    (cache / "build").symlink_to(paths.cache_dir() / "build")
    monkeypatch.setenv("BITGATE_CACHE", str(cache))
    (cache / "durations" / "host.json").write_text(text)
    code, said = run_here("-k", "second and f32")
    assert code == 0, said
    assert "host.json: ignored, no table of durations" in said
    code, said = run_here("-k", "second and f32")
    assert code == 0, said
    assert "ignored" not in said


def test_durations_that_cannot_be_kept_are_reported(suites: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    cache = suites.folder / "cache"
    cache.mkdir()
    (cache / "build").symlink_to(paths.cache_dir() / "build")
    (cache / "durations").write_text("a file where the folder should be")
    monkeypatch.setenv("BITGATE_CACHE", str(cache))
    finished = suites.run("-k", "second and f32")
    assert finished.returncode == 0, finished.stdout
    assert "the seconds of this run are not kept" in finished.stderr
