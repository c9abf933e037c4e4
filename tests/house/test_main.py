"""What becomes of an error that no command foresaw."""

from __future__ import annotations

from bitgate.cli import main


def test_a_defect_of_bitgate_is_not_reported_as_one_of_a_kernel(monkeypatch, capsys):
    """Exit code 1 would say that a kernel is wrong."""
    monkeypatch.setitem(main.COMMANDS, "doctor", "bitgate.cli.lost_in_a_wheel")
    assert main.run(["doctor"]) == 2
    err = capsys.readouterr().err
    assert "ModuleNotFoundError" in err
    assert "a defect of bitgate itself" in err
