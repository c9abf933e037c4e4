"""What becomes of an error that no command foresaw."""

from __future__ import annotations

from importlib import import_module
from typing import Any

import pytest
import typer

from bitgate.cli import main


def test_a_defect_of_bitgate_is_not_reported_as_one_of_a_kernel(monkeypatch, capsys):
    """Exit code 1 would say that a kernel is wrong."""
    monkeypatch.setitem(main.COMMANDS, "doctor", "bitgate.cli.lost_in_a_wheel")
    assert main.run(["doctor"]) == 2
    err = capsys.readouterr().err
    assert "ModuleNotFoundError" in err
    assert "a defect of bitgate itself" in err


def helps(command: Any, words: tuple[str, ...]) -> list[tuple[tuple[str, ...], str]]:
    """Of a command and those below it: the words that name it, and what is said of each of its options."""
    found = [(words, text) for option in command.params if (text := getattr(option, "help", ""))]
    for name, below in getattr(command, "commands", {}).items():
        found += helps(below, (*words, name))
    return found


@pytest.mark.parametrize("name", main.COMMANDS)
def test_help_says_all_that_stands_there(capsys: pytest.CaptureFixture[str], name: str) -> None:
    """``[the project's first]`` is a default, and no style of letters."""
    command = typer.main.get_command(import_module(main.COMMANDS[name]).app)
    shown: dict[tuple[str, ...], str] = {}
    for words, text in helps(command, (name,)):
        if words not in shown:
            assert main.run([*words, "--help"]) == 0
            shown[words] = "".join(capsys.readouterr().out.split())
        assert "".join(text.split()) in shown[words]


@pytest.mark.parametrize(("old", "name"), main.RENAMED.items())
def test_an_old_name_still_works_but_is_not_listed(capsys: pytest.CaptureFixture[str], old: str, name: str) -> None:
    assert main.run([old, "--help"]) == 0
    assert capsys.readouterr().out.startswith(f"Usage: bitgate {old}")
    assert main.run(["--help"]) == 0
    listed = capsys.readouterr().out
    assert f"  {name} " in listed
    assert old not in listed
