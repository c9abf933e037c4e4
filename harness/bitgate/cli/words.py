"""What several commands take from their words alike. UsageError says which word is wrong."""

from __future__ import annotations

from collections.abc import Iterable

from bitgate.errors import UsageError
from bitgate.operation import Problem, ProblemError
from bitgate.operation.foreign import problems_of


def problems_named(case: str) -> tuple[Problem, ...]:
    """Of a case id, or of a foreign command line."""
    try:
        return problems_of(case)
    except ProblemError as error:
        raise UsageError(str(error)) from None


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
