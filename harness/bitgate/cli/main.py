"""The ``bitgate`` command: a lazy table of subcommands, and the one place where errors become exit codes."""

from __future__ import annotations

import io
import os
import signal
import sys
import traceback
from importlib import import_module
from typing import Any

import typer
from typer.core import TyperGroup

from bitgate import __version__
from bitgate.core import settings
from bitgate.core.errors import UsageError
from bitgate.core.untrusted import message, shown

# Group -> name -> module with a typer app called ``app``. A module is imported only when its name is asked for, so that
# --version and merges stay light.
GROUPS: dict[str, dict[str, str]] = {
    "Judge a kernel": {
        "verify": "bitgate.cli.verify",
        "judge": "bitgate.cli.judge",
        "bench": "bitgate.cli.bench",
        "run-example": "bitgate.cli.run_example",
        "exec": "bitgate.cli.execute",
        "compile": "bitgate.cli.compile",
        "kernels": "bitgate.cli.kernels",
        "capsule": "bitgate.cli.capsule",
    },
    "Suites": {
        "run": "bitgate.cli.run",
        "cases": "bitgate.cli.cases",
        "coverage": "bitgate.cli.coverage",
        "faults": "bitgate.cli.faults",
        "report": "bitgate.cli.report",
    },
    "Explore": {
        "explain": "bitgate.cli.explain",
        "fuzz": "bitgate.cli.fuzz",
        "shrink": "bitgate.cli.shrink",
        "doctor": "bitgate.cli.doctor",
        "bringup": "bitgate.cli.bringup",
    },
    "Lab": {
        "submit": "bitgate.cli.submit",
        "ci": "bitgate.cli.ci",
        "history": "bitgate.cli.history",
        "triage": "bitgate.cli.triage",
        "bisect": "bitgate.cli.bisect",
    },
}
COMMANDS: dict[str, str] = {name: module for group in GROUPS.values() for name, module in group.items()}

SUMMARIES: dict[str, str] = {
    "verify": "Run cases and compare every bit with a CPU reference.",
    "judge": "Judge a submission on a task.",
    "bench": "Verify kernels, then time them, one side or two.",
    "run-example": "Run a CK example by its command line.",
    "exec": "Run a HIP program on CPU threads and report incidents.",
    "compile": "Build the shared libraries of kernel families.",
    "kernels": "List kernel families, their instances and options.",
    "capsule": "Write and replay capsules: cases that run by themselves.",
    "run": "Run a tier of the suites through pytest.",
    "cases": "List a tier's plan: cases, why they run, and seconds.",
    "coverage": "Report combinations of factor classes that no case has.",
    "faults": "Plant seeded defects and mutants; report which are found.",
    "report": "Render results as JUnit and Markdown, and as a page.",
    "explain": "Explain a verdict or a diagnosis, or draw a case.",
    "fuzz": "Verify random problems on all instances.",
    "shrink": "Shrink a failing case, and name what makes it pass.",
    "doctor": "Report targets, toolchains, runtimes and libraries.",
    "bringup": "Try every step on a new machine, and pack the findings.",
    "submit": "Run a whole night: plan, run shards, merge results.",
    "ci": "Plan, select, submit and merge CI jobs.",
    "history": "Report trends, flaky cases and bad machines of past runs.",
    "triage": "Report which failures are new, known or fixed.",
    "bisect": "Find the commit since which a case is red.",
}
"""The first sentence of each command's help: the list of commands needs none of their modules."""


# Old name -> name: accepted for one more minor release, and not listed.
RENAMED: dict[str, str] = {"first-contact": "bringup"}


class LazyGroup(TyperGroup):
    """Loads a subcommand's module when the subcommand is named."""

    def list_commands(self, ctx: Any) -> list[str]:
        return list(COMMANDS)

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """Write a section for each group; a summary goes on in the next line where it is too long, and is never cut."""
        width = max(map(len, COMMANDS))
        for group, commands in GROUPS.items():
            rows = [(name.ljust(width), SUMMARIES[name]) for name in commands]
            with formatter.section(group):
                formatter.write_dl(rows)

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        cmd_name = RENAMED.get(cmd_name, cmd_name)
        if cmd_name not in COMMANDS:
            return None
        app = import_module(COMMANDS[cmd_name]).app
        app.rich_markup_mode = None  # "[local]" is a default, and would be taken for a style and left out
        command = typer.main.get_command(app)
        command.name = cmd_name
        return command


app = typer.Typer(
    cls=LazyGroup,
    no_args_is_help=True,
    add_completion=True,  # of this app alone: a subcommand's would install a script under its name
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
)


@app.callback(invoke_without_command=True)
def bitgate(
    version: bool = typer.Option(False, "--version", help="Print the version and stop."),
) -> None:
    """Test GPU kernels bit by bit against a CPU reference.

    Exit codes: 0 green, 1 a defect was found, 2 usage or environment, 3 nothing was compared, 130 interrupted.
    """
    if version:
        typer.echo(f"bitgate {__version__}")
        raise typer.Exit(0)


INTERRUPTED = 130

_COMPLETION = {
    "install_completion": "Install completion for the current shell.",
    "show_completion": "Print the current shell's completion script.",
}


def command() -> Any:
    """Return the command with all its subcommands, with our help on Typer's own options."""
    made = typer.main.get_command(app)
    for option in made.params:
        if option.name in _COMPLETION:
            option.help = _COMPLETION[option.name]  # type: ignore[attr-defined]
    return made


def main() -> None:
    """Run the console script's command line and exit.

    A CI's SIGTERM is handled like Ctrl-C, so that child processes end with this one.
    """
    settings.restart_without_prompt()
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    sys.exit(run(sys.argv[1:]))


def _begin_zygote(arguments: list[str]) -> None:
    """Let judges and launchers import what they need while this process does."""
    if arguments[:1] == ["verify"] and "--in-process" not in arguments:
        from bitgate.verify.launcher_worker import PRELOAD
        from bitgate.worker.child import begin_zygote

        begin_zygote(PRELOAD)


def run(arguments: list[str]) -> int:
    """Run one command line and return its exit code; print one line for an error that the user can fix."""
    try:
        _check_text(arguments)
        if not {"-h", "--help", "--version"} & set(arguments):
            settings.check()
            _begin_zygote(arguments)
        code = command().main(args=arguments, prog_name="bitgate", standalone_mode=False)
        if code == INTERRUPTED:  # Typer has made it of a KeyboardInterrupt
            raise KeyboardInterrupt
        return code if isinstance(code, int) else 0
    except UsageError as error:
        print(f"bitgate: {message(str(error))}", file=sys.stderr)
        return 2
    except (KeyboardInterrupt, typer.Abort):
        print("bitgate: interrupted", file=sys.stderr)
        return INTERRUPTED
    except BrokenPipeError:
        # The reader of a pipe went away (``bitgate cases | head``): not an error, but Python would complain at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except OSError as error:
        print(f"bitgate: {message(str(error))}", file=sys.stderr)
        return 2
    except Exception as error:
        if hasattr(error, "exit_code") and hasattr(error, "format_message"):  # a bad option: click's own usage error
            said = io.StringIO()
            error.show(file=said)  # type: ignore[attr-defined]
            sys.stderr.write(message(said.getvalue()))
            return 2
        # 1 would say that a kernel is wrong.
        traceback.print_exc()
        print(
            f"bitgate: a defect of bitgate itself ({__version__}): please report it with the lines above",
            file=sys.stderr,
        )
        return 2


def _check_text(arguments: list[str]) -> None:
    """Raise UsageError for an argument that is no text: no record, plan or report could hold it."""
    for argument in arguments:
        try:
            argument.encode()
        except UnicodeEncodeError:
            raise UsageError(f"the argument '{shown(argument)}' is not UTF-8") from None
