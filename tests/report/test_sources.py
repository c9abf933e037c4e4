"""Results files that are found: through links, in folders that cannot be read, without a line, of targets without a
machine."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from bitgate.core.errors import UsageError
from bitgate.results.record import Outcome, Verdict
from bitgate.results.report.findings import MissingTarget
from bitgate.results.report.ledger import read_ledgers
from bitgate.results.report.render import merge
from bitgate.results.report.source import results_files

Make = Callable[..., Verdict]
Folder = Callable[..., Path]
NOBODY = 65534


def test_the_plan_is_next_to_a_link(verdict: Make, run_folder: Folder, tmp_path: Path) -> None:
    """As a store of artifacts leaves a file, whose content is elsewhere."""
    planned = [verdict(), verdict(case="b")]
    folder = run_folder("out/host", verdict(), planned=planned)
    (folder / "results.jsonl").rename(tmp_path / "5eb63bbb")
    (folder / "results.jsonl").symlink_to(tmp_path / "5eb63bbb")
    (ledger,) = read_ledgers([tmp_path / "out"])
    assert [entry.verdict.outcome for entry in ledger.entries] == [Outcome.PASS, Outcome.LOST]


def test_a_link_alone_has_the_plan_of_its_file(verdict: Make, run_folder: Folder, tmp_path: Path) -> None:
    folder = run_folder("out/host", verdict(), planned=[verdict(), verdict(case="b")])
    (tmp_path / "last.jsonl").symlink_to(folder / "results.jsonl")
    (ledger,) = read_ledgers([tmp_path / "last.jsonl"])
    assert [entry.verdict.outcome for entry in ledger.entries] == [Outcome.PASS, Outcome.LOST]


def test_linked_folders_are_read_once(verdict: Make, run_folder: Folder, tmp_path: Path) -> None:
    run_folder("out/host", verdict())
    (tmp_path / "out/gfx942").symlink_to(run_folder("elsewhere", verdict(Outcome.MISMATCH, target="gfx942")))
    (tmp_path / "out/again").symlink_to(tmp_path / "out")
    assert [ledger.target for ledger in read_ledgers([tmp_path / "out"])] == ["gfx942", "host"]
    assert len(results_files([tmp_path / "out"])) == 2


@contextmanager
def _without_rights() -> Iterator[None]:
    """Give up what root may do, where root runs this."""
    is_root = os.geteuid() == 0
    if is_root:
        os.seteuid(NOBODY)
    try:
        yield
    finally:
        if is_root:
            os.seteuid(0)


def test_a_folder_that_cannot_be_read_is_not_left_out() -> None:
    with tempfile.TemporaryDirectory() as folder:
        top = Path(folder)
        top.chmod(0o755)
        for name in ("host", "gfx942"):
            (top / name).mkdir()
            (top / name / "results.jsonl").touch()
        (top / "gfx942").chmod(0)
        try:
            with _without_rights(), pytest.raises(UsageError, match="gfx942: cannot be read: Permission denied"):
                results_files([top])
        finally:
            (top / "gfx942").chmod(0o755)


def test_a_record_without_a_line_is_red(verdict: Make, run_folder: Folder, tmp_path: Path) -> None:
    (run_folder("out/gfx942") / "results.jsonl").touch()
    run_folder("out/host", verdict(), planned=[verdict()])
    summary = merge([tmp_path / "out"], tmp_path / "merged")
    assert summary.exit_code == 1
    assert "it holds no verdict, and no plan is next to it" in summary.headline


def test_a_link_to_nothing_is_red(verdict: Make, run_folder: Folder, tmp_path: Path) -> None:
    (run_folder("out/gfx942") / "results.jsonl").symlink_to(tmp_path / "not_fetched")
    run_folder("out/host", verdict(), planned=[verdict()])
    assert merge([tmp_path / "out"], tmp_path / "merged").exit_code == 1


@pytest.mark.parametrize("text", ["garbage\n", None])
def test_a_target_without_a_machine_may_leave_no_damage(
    verdict: Make, run_folder: Folder, tmp_path: Path, text: str | None
) -> None:
    run_folder("out/host", verdict(), planned=[verdict()])
    folder = run_folder("out/gfx942", planned=[verdict(target="gfx942")])
    if text:
        (folder / "results.jsonl").write_text(text)
    summary = merge([tmp_path / "out"], tmp_path / "merged", absent=[MissingTarget("gfx942", "no pool serves it")])
    assert summary.exit_code == 1
