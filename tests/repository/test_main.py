"""The command line as a whole: unforeseen errors, help and completion."""

from __future__ import annotations

import os
import subprocess
import sys
from inspect import unwrap
from pathlib import Path
from typing import Any, get_args, get_type_hints

import pytest
from typer.models import OptionInfo

from bitgate.cli import main
from bitgate.suite.pytest import options


def test_a_defect_of_bitgate_is_not_reported_as_one_of_a_kernel(monkeypatch, capsys):
    """Exit code 1 would say that a kernel is wrong."""
    monkeypatch.setitem(main.COMMANDS, "doctor", "bitgate.cli.lost_in_a_wheel")
    assert main.run(["doctor"]) == 2
    err = capsys.readouterr().err
    assert "ModuleNotFoundError" in err
    assert "a defect of bitgate itself" in err


@pytest.mark.parametrize("program", ["bitgate", "bitgate.cli.hipcc"])
def test_a_prompt_that_python_is_to_end_with_changes_no_exit_code(program: str) -> None:
    command = [sys.executable, "-m", program, "cases", "no_such_row.hip"]
    plain, asked = (
        subprocess.run(command, env={**os.environ, **more}, capture_output=True, text=True, stdin=subprocess.DEVNULL)
        for more in ({}, {"PYTHONINSPECT": "1"})
    )
    assert plain.returncode != 0
    assert (asked.returncode, asked.stdout, asked.stderr) == (plain.returncode, plain.stdout, plain.stderr)


LONGEST = 60


def commands(command: Any, words: tuple[str, ...] = ()) -> dict[tuple[str, ...], Any]:
    """Find a command and those below it, by the words that name them."""
    found = {words: command}
    for name in getattr(command, "list_commands", lambda _: ())(None):
        found |= commands(command.get_command(None, name), (*words, name))
    return found


COMMANDS = commands(main.command())


@pytest.mark.parametrize("words", COMMANDS, ids=" ".join)
def test_help_is_one_imperative_line_that_is_not_cut(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, words: tuple[str, ...]
) -> None:
    """``[the project's first]`` is a default, and no style of letters."""
    monkeypatch.setenv("COLUMNS", "80")
    assert main.run([*words, "--help"]) == 0
    printed = capsys.readouterr().out
    command, shown = COMMANDS[words], " ".join(printed.split())
    below = [one for name, one in COMMANDS.items() if name[:-1] == words and name]
    texts = [text for option in command.params if (text := getattr(option, "help", ""))]
    for line in [*texts, *((one.help or "").split("\n")[0] for one in [command, *below])]:
        assert is_imperative(line), line
        assert line in shown
    named = [option for option in command.params if option.opts[0].startswith("-") and not option.hidden]
    assert [option.opts for option in named if not all(name in shown for name in option.opts)] == []
    assert max(map(len, printed.splitlines())) <= 80


@pytest.mark.parametrize("words", [words for words, one in COMMANDS.items() if one.callback], ids=" ".join)
def test_a_real_number_has_both_limits(words: tuple[str, ...]) -> None:
    """Infinity is no number in JSON, and a deadline that is no finite number has passed at once, or never comes."""
    hints = get_type_hints(unwrap(COMMANDS[words].callback), include_extras=True)
    options = {
        name: get_args(hint)[1] for name, hint in hints.items() if get_args(hint)[:1] in ((float,), (float | None,))
    }
    assert [name for name, one in options.items() if one.min is None or one.max is None] == []


@pytest.mark.parametrize("words", [words for words, one in COMMANDS.items() if one.callback], ids=" ".join)
def test_every_option_has_its_parameters_name(words: tuple[str, ...]) -> None:
    """Typer 0.27 names an option after its metavar where they differ by case alone, unless its name is stated."""
    command = COMMANDS[words]
    assert [name for option in command.params for name in option.opts if name != name.lower()] == []
    hints = get_type_hints(unwrap(command.callback), include_extras=True)
    stated = {name: one for name, hint in hints.items() for one in getattr(hint, "__metadata__", ())}
    options = {name: one for name, one in stated.items() if isinstance(one, OptionInfo)}
    unnamed = [name for name, one in options.items() if not one.param_decls and not isinstance(one.default, str)]
    assert [name for name in unnamed if options[name].metavar == name.upper()] == []


def test_the_plugins_options_have_such_help() -> None:
    parser = pytest.Parser(_ispytest=True)
    options.add(parser)
    texts = [option.attrs()["help"] for option in parser.getgroup("bitgate").options]
    assert len(texts) > 10
    assert [text for text in texts if not is_imperative(text)] == []


def is_imperative(line: str) -> bool:
    verb = line.split()[0].rstrip(",")
    return len(line) <= LONGEST and line.endswith(".") and verb.isalpha() and verb.istitle() and verb not in NO_VERBS


NO_VERBS = {"A", "All", "An", "As", "By", "For", "From", "In", "Of", "One", "Only", "That", "The", "These", "What"}


@pytest.fixture
def shell(tmp_path: Path) -> dict[str, str]:
    """Environment of an empty home with ``bitgate`` on its PATH."""
    script = tmp_path / "bin" / "bitgate"
    script.parent.mkdir()
    script.write_text(f'#!/bin/sh\nexec {sys.executable} -m bitgate "$@"\n')
    script.chmod(0o755)
    return os.environ | {"HOME": str(tmp_path), "PATH": f"{script.parent}:{os.environ['PATH']}"}


def bash(command: str, environment: dict[str, str]) -> str:
    done = subprocess.run(["bash", "-c", command], env=environment, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_bash_completes_commands_and_their_options(shell: dict[str, str], tmp_path: Path) -> None:
    """The completion that is installed answers; what the shell reads at its start is not run, only looked at."""
    bash("bitgate --install-completion; true", shell)
    (script,) = tmp_path.glob(".bash_completions/*.sh")
    assert str(script) in (tmp_path / ".bashrc").read_text()
    complete = """
        source "$1" && eval "asked=($2)" && COMP_WORDS=("${asked[@]}") COMP_CWORD=$((${#asked[@]} - 1))
        spec=$(complete -p bitgate) spec=${spec##*-F } && ${spec%% *} bitgate && echo "${COMPREPLY[@]}"
    """
    for line, expected in (
        ("bitgate ver", "verify"),
        ("bitgate verify --isol", "--isolate"),
        ("bitgate ci pl", "plan"),
    ):
        done = subprocess.run(
            ["bash", "-c", complete, "bash", str(script), line], env=shell, capture_output=True, text=True, timeout=120
        )
        assert (done.stdout.split(), done.stderr) == ([expected], "")


@pytest.mark.parametrize(("name", "answer"), [("zsh", '"verify":"Run cases'), ("fish", "verify\tRun cases")])
def test_other_shells_ask_for_commands(shell: dict[str, str], name: str, answer: str) -> None:
    asked = {"_BITGATE_COMPLETE": f"complete_{name}", "_TYPER_COMPLETE_ARGS": "bitgate ver"}
    assert answer in bash("bitgate", shell | asked | {"_TYPER_COMPLETE_FISH_ACTION": "get-args"})
    assert "bitgate" in bash("bitgate", shell | {"_BITGATE_COMPLETE": f"source_{name}"})


def test_no_subcommand_installs_completion(capsys: pytest.CaptureFixture[str]) -> None:
    assert main.run(["verify", "--install-completion"]) == 2
    assert "No such option" in capsys.readouterr().err
    found = [words for words, command in COMMANDS.items() for one in command.params if one.name == "install_completion"]
    assert found == [()]


def test_help_lists_each_command_once_below_its_group(capsys: pytest.CaptureFixture[str]) -> None:
    assert main.run(["--help"]) == 0
    listed: dict[str, list[str]] = {}
    for line in capsys.readouterr().out.splitlines():
        if not line.startswith(" "):
            group = line.rstrip(":")
        elif group in main.GROUPS:
            listed.setdefault(group, []).append(line.split()[0])
    assert listed == {group: list(names) for group, names in main.GROUPS.items()}
    names = [name for group in listed.values() for name in group]
    assert sorted(names) == sorted(set(main.COMMANDS))


def test_the_list_of_commands_says_what_each_says_of_itself() -> None:
    of_itself = {words[0]: one.get_short_help_str(1000) for words, one in COMMANDS.items() if len(words) == 1}
    assert {name: of_itself[name] for name in main.SUMMARIES} == main.SUMMARIES
    assert list(main.SUMMARIES) == list(main.COMMANDS)


def test_the_list_of_commands_imports_none_of_them() -> None:
    code = "import sys; from bitgate.cli.main import run; run(['--help']); print(*sys.modules)"
    printed = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert not {"numpy", *main.COMMANDS.values()} & set(printed.splitlines()[-1].split())
