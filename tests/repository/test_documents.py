"""What documents name exists: commands with their options, keys of ``--json``, and the fields of a results line."""

from __future__ import annotations

import ast
import json
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from functools import lru_cache
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
import typer

from bitgate.cli.main import COMMANDS, run
from bitgate.core import paths
from bitgate.interop import benchdnn

CHECKOUT = paths.root()
DOCUMENTS = [CHECKOUT / "README.md", CHECKOUT / "CONTRIBUTING.md", *sorted((CHECKOUT / "docs").glob("*.md"))]
_OPTION = re.compile(r"(?<![\w-])--[a-z][\w-]*")
_ANY = ("--help", "-h")

each_document = pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.name)


def code_in(text: str) -> list[str]:
    """Lines of code: in fences, indented by four blanks, or between backticks."""
    fences = re.findall(r"```\w*\n(.*?)```", text, re.DOTALL)
    lines = [line for fence in fences for line in fence.splitlines()]
    lines += re.findall(r"^    (\S.*)$", text, re.MULTILINE)
    return [*lines, *re.findall(r"`([^`\n]+)`", text)]


def commands_in(text: str) -> Iterator[list[str]]:
    """Words of each command line; what follows a lone ``--`` is another program's."""
    for line in code_in(text):
        for part in re.split(r"&&|\||;|\s#\s", line):
            try:
                words = shlex.split(re.sub(r"[\[\]]", " ", part))
            except ValueError:
                continue
            yield words[: words.index("--")] if "--" in words else words


@lru_cache
def subcommands_of(name: str) -> dict[str, Any]:
    """By their names; what a command does without one of them by an empty name. LookupError if there is no such
    command."""
    if name not in COMMANDS:
        raise LookupError(f"there is no command 'bitgate {name}'")
    command: Any = typer.main.get_command(import_module(COMMANDS[name]).app)
    if not hasattr(command, "commands"):
        return {"": command}
    return {**command.commands, **({"": command} if command.invoke_without_command else {})}


def options_of(words: list[str]) -> set[str]:
    """Those of a bitgate command line. LookupError if there is no such command."""
    subcommands = subcommands_of(words[0])
    named = next((word for word in words[1:] if not word.startswith("-")), None)
    if "" in subcommands and named not in subcommands:
        named = ""
    if named is None:
        return set(_ANY)
    if named not in subcommands:
        raise LookupError(f"there is no command 'bitgate {words[0]} {named}'")
    parameters = subcommands[named].params
    return {name for parameter in parameters for name in (*parameter.opts, *parameter.secondary_opts)} | set(_ANY)


@lru_cache
def every_option() -> frozenset[str]:
    """Of all commands, of pytest in a run of suites, of the programs in bench, and of benchdnn as it is read here."""
    subcommands = [command for name in COMMANDS for command in subcommands_of(name).values()]
    parameters = [parameter for command in subcommands for parameter in command.params]
    found = {option for parameter in parameters for option in (*parameter.opts, *parameter.secondary_opts)}
    asked = [sys.executable, "-m", "pytest", "suites", "--help"]
    described = subprocess.run(asked, cwd=CHECKOUT, capture_output=True, text=True, check=True).stdout
    bench = "".join(path.read_text() for path in (CHECKOUT / "benchmarks").glob("*.py"))
    read = {f"--{name}" for driver in benchdnn.drivers().values() for name in driver.defaults}
    read |= {f"--{name}" for name in (*benchdnn.drivers(), *benchdnn.RUNNING, "batch", "reset", "cfg", "match")}
    return frozenset(found | read | set(_OPTION.findall(described)) | set(_OPTION.findall(bench)))


def wrong_commands(text: str) -> list[str]:
    """Command lines of bitgate with a command or an option that is not there, and what it is."""
    wrong = []
    for words in commands_in(text):
        if len(words) < 2 or words[0] != "bitgate" or not re.fullmatch(r"[a-z][\w-]*", words[1]):
            continue
        try:
            known = options_of(words[1:])
        except LookupError as error:
            wrong.append(str(error))
            continue
        named = {word.partition("=")[0] for word in words if re.match(r"--?[a-z]", word)}
        wrong += [f"'bitgate {words[1]}' has no option {name}" for name in sorted(named - known)]
    return wrong


def wrong_options(text: str) -> list[str]:
    """Options that stand alone and are neither bitgate's nor pytest's."""
    named = {option for span in re.findall(r"`(--[^`\n]+)`", text) for option in _OPTION.findall(span)}
    return sorted(named - every_option() - set(_ANY))


@lru_cache
def names_in_code() -> frozenset[str]:
    """Everything that bitgate could write as a key: string constants, fields of classes, names of arguments."""
    names: set[str] = set()
    for path in (CHECKOUT / "harness" / "bitgate").rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Constant) and isinstance(node.value, str):
                names |= {node.value} if re.fullmatch(r"[a-z]\w*", node.value) else set()
            elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
                names.add(node.target.id)
            elif isinstance(node, ast.keyword) and node.arg:
                names.add(node.arg)
    return frozenset(names)


def keys_in(text: str) -> set[str]:
    """Keys that paragraphs name after ``--json``: `key`, `key[]`, and what follows them in braces."""
    found: set[str] = set()
    for paragraph in re.split(r"\n\s*\n|\n(?=- |\| )", text):
        described = paragraph.partition("`--json`")[2]
        found |= set(re.findall(r"`([a-z][a-z_]*)(?:\[\])?`", described))
        for braces in re.findall(r"(?:`|\])\s*(\{[^`]*\})", described):
            found |= set(re.findall(r"[a-z][a-z_]*", braces))
    return found


@each_document
def test_every_command_and_option_of_bitgate_exists(document: Path) -> None:
    assert wrong_commands(document.read_text()) == []


@each_document
def test_every_option_that_stands_alone_exists(document: Path) -> None:
    assert wrong_options(document.read_text()) == []


@each_document
def test_every_key_of_json_is_a_name_in_the_code(document: Path) -> None:
    assert keys_in(document.read_text()) - names_in_code() == set()


def test_every_field_of_a_results_line_is_in_a_results_line(capsys: pytest.CaptureFixture[str]) -> None:
    text = (CHECKOUT / "docs" / "results.md").read_text()
    section = text.partition("## A results line\n")[2].partition("\n(")[0]
    named = set(re.findall(r"`([a-z]+)`", re.sub(r"\{[^}]*\}|\([^)]*\)", "", section)))
    code = run(["verify", "fwd_f32_nwgc_g1n1k1c1_y1_h1", "--kernel", "naive_conv*", "--target", "host", "--json"])
    assert code == 0
    (line,) = json.loads(capsys.readouterr().out)["verdicts"]
    assert {"case", "device", "fingerprint"} <= named
    assert named - set(line) - OF_A_RUN - OF_A_RED == set()


OF_A_RUN = {"plan", "suite", "test", "tier", "where"}
"""Fields that only a run of suites has; ``tests/pytest_plugin`` looks at those."""
OF_A_RED = {"view"}
"""A field that only a red line has; ``tests/verify/test_fingerprint.py`` looks at it."""


def test_every_kind_of_device_is_one_of_the_code() -> None:
    text = (CHECKOUT / "docs" / "results.md").read_text()
    kinds = re.search(r"`device` \{kind: ([^;]*);", text)
    assert kinds is not None
    assert set(re.findall(r"`(\w+)`", kinds[1])) - names_in_code() == set()


WRONG = {
    "`bitgate emulate CASE`": "there is no command 'bitgate emulate'",
    "`bitgate faults sow`": "there is no command 'bitgate faults sow'",
    "```\nbitgate verify CASE --tolerance 1e-3\n```": "'bitgate verify' has no option --tolerance",
    "run\n\n    bitgate compile --target gfx942 && bitgate report FILE --pdf\n": "'bitgate report' has no option --pdf",
}


@pytest.mark.parametrize("text", WRONG)
def test_what_does_not_exist_is_reported(text: str) -> None:
    assert wrong_commands(text) == [WRONG[text]]


def test_a_lone_option_and_a_key_that_do_not_exist_are_reported() -> None:
    assert wrong_options("with `--tolerance 1e-3`, `--json`, `--maxfail 1`") == ["--tolerance"]
    described = "`--json`: `dispatch[]` {kernel, pass, flops_wasted} and `dreamt`."
    assert keys_in(described) - names_in_code() == {"flops_wasted", "dreamt"}
