"""Odd inputs: what is right, with a part changed into something unexpected. Seeded: each comes again."""

from __future__ import annotations

import copy
import json
import random
import re
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import Any

import pytest

TOKENS = (
    *(
        "",
        " ",
        "\n",
        "\t",
        "\x00",
        "\r\n",
        "-",
        "--",
        "=",
        "_",
        ":",
        "x",
        ".",
        "..",
        "../..",
        "/",
        "/etc/passwd",
        "~",
        "$HOME",
    ),
    *(
        "0",
        "-1",
        "1e9",
        "1e999",
        "9" * 19,
        "9" * 40,
        "9" * 5000,
        "0x10",
        "00",
        "+1",
        "1_0",
        "nan",
        "inf",
        "-inf",
        "1.5",
    ),
    *(
        "\u0661",
        "\uff11",
        "\u00b2",
        "\u00e9",
        "\U0001f600",
        "\ufeff",
        "\u202e",
        "\x1b[31m",
        "'",
        '"',
        "\\",
        "`id`",
        "$(id)",
    ),
    *("true", "null", "None", "[", "]", "{", "}", "[[", "]]", "<", ">", "%", "*", "?", "#", ";", "|", "a" * 3000),
)

VALUES: tuple[Any, ...] = (
    *(None, True, False, 0, -1, 1, 2**31, 2**63, -(2**63) - 1, 10**30, 1.5, -0.0, 1e308, float("nan"), float("inf")),
    *(
        "",
        " ",
        "x",
        "../../x",
        "/etc/passwd",
        "..",
        ".",
        "a/b",
        "\x00",
        "\n",
        "\ud800",
        "\u0661",
        "a" * 5000,
        "[]",
        "1",
    ),
    *([], {}, [None], [[]], {"": None}, [1, "a", None], {"a": {"b": []}}, ["../x"], [-1], [0], [2**63]),
)

SECONDS = 20
"""What one input may take: a thousand times of what it does."""


class Hang(BaseException):
    """Not an Exception, so that no handler catches it by chance."""


class Odd:
    """Draws of one seed."""

    def __init__(self, seed: object) -> None:
        self.draw = random.Random(str(seed))

    def text(self, right: str) -> str:
        """A few changes: a part cut, doubled, moved or replaced; numbers and tokens of another kind."""
        for _ in range(self.draw.choice((1, 1, 2, 3, 8))):
            right = self._change(right)
        return right

    def _change(self, text: str) -> str:
        at, to = sorted((self.draw.randrange(len(text) + 1), self.draw.randrange(len(text) + 1)))
        to = min(to, at + 40)
        numbers = list(re.finditer(r"\d+", text))
        kind = self.draw.randrange(6)
        if kind == 0 and numbers:
            number = self.draw.choice(numbers)
            return text[: number.start()] + self.draw.choice(TOKENS) + text[number.end() :]
        if kind == 1:
            return text[:at] + text[to:]
        if kind == 2:
            return text[:to] + text[at:to] + text[to:]
        if kind == 3:
            return text[:at]
        if kind == 4:
            return (
                text[:at] + chr(self.draw.choice((self.draw.randrange(128), self.draw.randrange(0x3000)))) + text[to:]
            )
        return text[:at] + self.draw.choice(TOKENS) + text[at:]

    def value(self) -> Any:
        if self.draw.random() < 0.05:
            deep: Any = 0
            for _ in range(self.draw.choice((30, 60, 400))):
                deep = [deep] if self.draw.random() < 0.5 else {"a": deep}
            return deep
        return copy.deepcopy(self.draw.choice(VALUES))

    def document(self, right: Any) -> Any:
        """A JSON or TOML document with a few of its places changed, removed, added or doubled."""
        document = copy.deepcopy(right)
        for _ in range(self.draw.choice((1, 1, 1, 2, 4))):
            places = list(_places(document))
            if not places:
                return self.value()
            holder, key = self.draw.choice(places)
            kind = self.draw.randrange(8)
            if kind == 0:
                del holder[key]
            elif kind == 1 and isinstance(holder, dict):
                holder[self.draw.choice(TOKENS)] = self.value()
            elif kind == 2 and isinstance(holder, list):
                holder.append(copy.deepcopy(holder[key]))
            elif kind == 3 and isinstance(holder[key], str):
                holder[key] = self.text(holder[key])
            else:
                holder[key] = self.value()
        return self.value() if self.draw.random() < 0.02 else document

    def json_text(self, right: Any) -> bytes:
        """The document changed as such, or its text."""
        if self.draw.random() < 0.7:
            return json.dumps(self.document(right)).encode(errors="surrogatepass")
        return self.bytes(json.dumps(right))

    def bytes(self, right: str) -> bytes:
        data = bytearray(self.text(right).encode(errors="surrogatepass"))
        for _ in range(self.draw.choice((0, 0, 0, 1, 5))):
            if data:
                data[self.draw.randrange(len(data))] = self.draw.randrange(256)
        return bytes(data)


def _places(value: Any) -> Iterator[tuple[Any, Any]]:
    if isinstance(value, dict):
        for key, inner in value.items():
            yield value, key
            yield from _places(inner)
    elif isinstance(value, list):
        for number, inner in enumerate(value):
            yield value, number
            yield from _places(inner)


@contextmanager
def _in_time(what: str) -> Iterator[None]:
    def over(number: int, frame: FrameType | None) -> None:
        raise Hang(what)

    before = signal.signal(signal.SIGALRM, over)
    signal.setitimer(signal.ITIMER_REAL, SECONDS)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


Try = Callable[[str, int, Callable[[Odd, Path], Callable[[], object]], tuple[type[BaseException], ...]], int]


@pytest.fixture
def try_all(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Try:
    """``try_all(name, count, make, answers)``: make each input in a separate cell and try it. Only ``answers`` may be
    raised, in time, and nothing may appear outside the cell. The number of inputs that were refused."""
    cell = tmp_path / "a" / "b" / "cell"
    cell.mkdir(parents=True)
    monkeypatch.chdir(cell)

    def outside() -> list[Path]:
        return sorted(path for path in tmp_path.rglob("*") if cell not in path.parents)

    def _try_all(
        name: str,
        count: int,
        make: Callable[[Odd, Path], Callable[[], object]],
        answers: tuple[type[BaseException], ...],
    ) -> int:
        before, refused = outside(), 0
        for seed in range(count):
            attempt = make(Odd(f"{name} {seed}"), cell)
            try:
                with _in_time(f"{name} {seed}"):
                    attempt()
            except answers as error:
                refused += bool(str(error).strip())  # one without a word fails the test's count
            except BaseException as error:
                raise AssertionError(f"{name} {seed}: {type(error).__name__}: {error}") from error
        assert outside() == before
        return refused

    return _try_all
