"""Foreign text in messages is shown, and never acted upon: neither by a terminal nor by a reader's patience."""

from __future__ import annotations

import pytest

from bitgate.cli.main import run
from bitgate.core.errors import raised, traceback_of
from bitgate.core.untrusted import MOST_SHOWN, message, printable, shown


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("plain, and \u00e9", "plain, and \u00e9"),
        ("\x1b[2J\x07", r"\x1b[2J\x07"),
        ("\u202eflat", r"\u202eflat"),
        ("\ud800", r"\ud800"),
        ("two\nlines\tand a tab", "two\nlines\tand a tab"),
    ],
)
def test_what_a_terminal_would_act_upon_is_escaped(text: str, said: str) -> None:
    assert printable(text) == said


def test_a_value_is_one_line_of_200_characters() -> None:
    assert shown("a\nb") == r"a\nb"
    assert shown("a" * 5000) == "a" * MOST_SHOWN + "... (5000 characters)"
    assert message("no file " + "a" * 5000) == "no file " + "a" * MOST_SHOWN + "... (5000 characters)"


class Silent(BaseException):
    """Raises itself wherever it is asked."""

    def __str__(self) -> str:
        raise self

    __repr__ = __str__
    __traceback__ = property(__str__)


class Loud(str):
    """A text that lies."""

    def __str__(self) -> str:
        return self

    def isprintable(self) -> bool:
        return True


def test_what_a_user_raises_is_named_whatever_its_class_does() -> None:
    assert shown(Silent()) == "(a Silent without text)"
    assert shown(raised(Silent())) == "Silent: (a Silent without text)"
    assert traceback_of(Silent()) is None
    assert shown(Loud("\x1b[2J")) == r"\x1b[2J"


def test_an_argument_that_is_not_utf_8_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["verify", "a\udcff"]) == 2
    assert capsys.readouterr().err == "bitgate: the argument 'a\\udcff' is not UTF-8\n"


def test_an_argument_does_not_clear_the_screen(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["verify", "\x1b[2J"]) == 2
    said = capsys.readouterr().err
    assert r"\x1b[2J" in said
    assert "\x1b" not in said
