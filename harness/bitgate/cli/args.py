"""Arguments that several commands parse alike. A UsageError says which word is wrong."""

from __future__ import annotations

import tempfile
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

from bitgate.core.errors import UsageError
from bitgate.core.settings import bytes_of

if TYPE_CHECKING:
    from bitgate.model import Problem


def problems_named(case: str) -> tuple[Problem, ...]:
    """Return the problems of a case id or of a foreign command line. UsageError for what is neither."""
    from bitgate.interop import problems_of  # the model, and numpy with it: a run's command needs neither
    from bitgate.model import ProblemError

    try:
        return problems_of(case)
    except ProblemError as error:
        raise UsageError(str(error)) from None


def check_writable(*files: Path | None) -> None:
    """Raise UsageError for a file that cannot be written, before the work is done; a missing folder is made."""
    for file in filter(None, files):
        try:
            file.absolute().parent.mkdir(parents=True, exist_ok=True)
            with tempfile.TemporaryFile(dir=file.absolute().parent):
                pass
        except OSError as error:
            raise UsageError(f"{file} cannot be written: {error.strerror or error}; give another place") from None
        if file.is_dir():
            raise UsageError(f"{file} cannot be written: it is a folder; give a file")


def options_named(words: Iterable[str] | None) -> dict[str, str]:
    """Kernel options, each ``NAME=VALUE``."""
    options: dict[str, str] = {}
    for word in words or ():
        name, equals, value = word.partition("=")
        if not equals or not name:
            raise UsageError(f"--option {word}: write NAME=VALUE")
        if options.setdefault(name, value) != value:
            raise UsageError(f"--option {word}: {name} is {options[name]} already; give it once")
    return options


def bytes_stated(option: str, text: str) -> int:
    """Return the bytes that an option's size states. Raises UsageError if it states none."""
    try:
        return bytes_of(text)
    except ValueError as error:
        raise UsageError(f"{option} {text}: {error}") from None
