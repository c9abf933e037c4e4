"""Untrusted input: documents are read within limits and checked against a type before anything uses them, and names are
checked before they become a part of a path."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Annotated, Any, TypeVar

import msgspec

from bitgate.core.errors import UsageError, text_of

PATTERN = r"[A-Za-z0-9_][A-Za-z0-9_.+-]{0,239}"
"""The one rule for text that becomes a part of a path: targets, cases, kernels, suites, shards, files of a capsule. A
name is one component that cannot leave its folder, hide, be taken for an option, or mean something else to a shell.
File systems take 255 bytes, of which some are left for endings."""

RULE = "letters, digits and _ . + -, beginning with a letter, digit or _, at most 240 of them"


def is_safe(text: object) -> bool:
    return isinstance(text, str) and re.fullmatch(PATTERN, text) is not None


def safe_name(text: str, what: str) -> str:
    """Return the text if it may be a part of a path. UsageError names ``what`` has it."""
    if not is_safe(text):
        raise UsageError(f"{what}: {text[:80]!r} cannot be a name in a path: {RULE}")
    return text


MOST_SHOWN = 200
"""Most characters of one value in a message."""


def shown(value: object, most: int = MOST_SHOWN) -> str:
    """Return a value as a message may hold it, on one line: see ``printable``; what is longer is cut."""
    text = text_of(value)
    cut = text if len(text) <= most else f"{text[:most]}... ({len(text)} characters)"
    return printable(cut.replace("\n", "\\n"))


def printable(text: str) -> str:
    """Return a text with escapes for all that a terminal would act upon: control characters, changes of direction,
    halves of surrogate pairs. Ends of lines and tabs stay."""
    if text.isprintable():
        return text
    return "".join(one if one.isprintable() or one in "\n\t" else ascii(one)[1:-1] for one in text)


MOST_OF_A_WORD = 400
MOST_OF_A_MESSAGE = 8000


def message(text: str) -> str:
    """Return a message for a terminal: see ``printable``; a word or a text without end is cut."""
    words = re.sub(rf"\S{{{MOST_OF_A_WORD},}}", lambda word: shown(word[0]), text)
    return printable(words if len(words) <= MOST_OF_A_MESSAGE else shown(words, MOST_OF_A_MESSAGE))


T = TypeVar("T")

DEEPEST = 40
"""Levels of lists and objects; the files that bitgate writes have six."""

LONGEST_LINE = 4 << 20
LONGEST_FILE = 1 << 30
"""Bytes: far above what bitgate writes, and far below what a machine has."""

Short = Annotated[str, msgspec.Meta(max_length=1024)]
Text = Annotated[str, msgspec.Meta(max_length=1 << 20)]
Name = Annotated[str, msgspec.Meta(pattern=rf"^{PATTERN}\Z")]
"""A name that may become a part of a path."""
NameOrNone = Annotated[str, msgspec.Meta(pattern=rf"^({PATTERN})?\Z")]
Count = Annotated[int, msgspec.Meta(ge=0, le=(1 << 63) - 1)]
Seconds = Annotated[float, msgspec.Meta(ge=0, le=1e9)]


class InvalidInput(ValueError):
    """A document that is not what it should be; the message says where and why, on one line."""


def read_bytes(path: Path, longest: int = LONGEST_FILE) -> bytes:
    """Return a file's bytes. InvalidInput if it is too long, or no regular file: a pipe or a device might never end."""
    try:
        if not path.is_file():
            raise InvalidInput("not a file" if path.exists() else "no such file")
        if path.stat().st_size > longest:
            raise InvalidInput(f"{path.stat().st_size} bytes: at most {longest} are read")
        return path.read_bytes()
    except OSError as error:
        raise InvalidInput(f"cannot be read: {error.strerror or error}") from None


def parse_json(data: bytes) -> Any:
    """Return the value of a JSON document.

    InvalidInput for bad JSON or UTF-8, too deep nesting, or half of a surrogate pair.
    """
    try:
        value = msgspec.json.decode(data)  # equal to json for all that it accepts, in a third of the time
    except (ValueError, RecursionError):
        value = _parse_slowly(data)
    if data.count(b"[") + data.count(b"{") > DEEPEST and _depth(value) > DEEPEST:
        raise InvalidInput(f"nested deeper than {DEEPEST} levels")
    if b"\\u" in data and _SURROGATE.search(data) and not _is_unicode(value):
        raise InvalidInput("half of a surrogate pair: no character that a report could show")
    return value


_SURROGATE = re.compile(rb"\\u[dD][89a-fA-F]")


def _parse_slowly(data: bytes) -> Any:
    """Parse JSON with Python's reader, which takes NaN and says what is wrong."""
    try:
        return json.loads(data.decode())
    except UnicodeDecodeError as error:
        raise InvalidInput(f"not UTF-8 at byte {error.start}") from None
    except json.JSONDecodeError as error:
        raise InvalidInput(f"not JSON: {error.msg} at character {error.pos}") from None
    except RecursionError:
        raise InvalidInput(f"nested deeper than {DEEPEST} levels") from None
    except ValueError as error:  # a number of thousands of digits
        raise InvalidInput(f"not JSON: {str(error).splitlines()[0][:100]}") from None


def shaped(kind: type[T], value: Any) -> T:
    """Return the value converted to a type. InvalidInput names the place, what is there, and what should be."""
    try:
        return msgspec.convert(value, kind)
    except (msgspec.ValidationError, OverflowError) as error:
        raise InvalidInput(str(error).replace("`", "'")) from None


def _depth(value: Any) -> int:
    """Count the levels, to one beyond DEEPEST."""
    levels, here = 0, [value] if isinstance(value, (dict, list)) else []
    while here and levels <= DEEPEST:
        levels += 1
        inside = (item.values() if isinstance(item, dict) else item for item in here)
        here = [inner for items in inside for inner in items if isinstance(inner, (dict, list))]
    return levels


def _is_unicode(value: Any) -> bool:
    try:
        json.dumps(value, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        return False
    return True
