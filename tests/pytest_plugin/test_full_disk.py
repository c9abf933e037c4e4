"""A disk that fills up ends a run with one line, and the record that it has stays readable."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

LIMIT = """    import resource
    resource.setrlimit(resource.RLIMIT_FSIZE, (4000, resource.RLIM_INFINITY))  # what a full disk does to a file
    check(planned)"""


@pytest.mark.parametrize("workers", ["-n0", "-n2", "--processes=2"])
def test_a_record_that_can_grow_no_more(suites: Any, workers: str) -> None:
    suites.write(module=("    check(planned)", LIMIT))
    done = suites.run(workers)
    said = done.stdout + done.stderr
    assert done.returncode == 2, said
    assert "the disk is full; free space and run again with --resume" in said
    assert "INTERNALERROR" not in said
    assert 1 <= len(suites.verdicts) < 6
    assert {verdict.outcome.value for verdict in suites.verdicts} == {"PASS"}


def test_a_folder_that_cannot_be_written(suites: Any, run_here: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    blocked = suites.folder / "blocked"
    blocked.write_text("a file where the folder should be")
    monkeypatch.setenv("BITGATE_OUT", str(blocked / "out"))
    status, said = run_here()
    assert status == 2
    assert "set BITGATE_OUT to a folder that can be written" in said
    assert "Traceback" not in said


def test_a_line_that_fits_in_part_is_taken_back(tmp_path: Path) -> None:
    import resource
    import signal

    from bitgate.results.record import Key, Outcome, Verdict, append, read

    verdict = Verdict(Key("case", "kernel", "instance", (), "exact", 0, "forward", "host"), Outcome.PASS)
    path = tmp_path / "results.jsonl"
    append(path, verdict)
    size = path.stat().st_size
    child = os.fork()
    if child == 0:
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (size + 100, size + 100))
        try:
            append(path, verdict)
        except OSError as error:
            os._exit(0 if "the disk is full" in str(error) else 1)
        os._exit(2)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert path.stat().st_size == size
    assert list(read(path)) == [verdict]
