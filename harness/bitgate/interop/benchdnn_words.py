"""Lines and words of benchdnn's batch files: comments, names in quotes, and backslashes that join."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator

_WORD = re.compile(r'(?:[^\s"]|"[^"]*"|")+')


def joined_lines(text: str, is_command: Callable[[str], bool] = lambda line: False) -> Iterator[tuple[int, list[str]]]:
    """Yield lines that are not empty, without comments, those that a backslash joins together, by the first's number.

    As in benchdnn an empty line does not end what a backslash has begun; it ends a command line, as in a shell.
    """
    begin, group = 0, list[str]()
    for number, raw in enumerate(text.splitlines(), 1):
        line = without_comment(raw)
        if not line and not (group and is_command(group[0])):
            continue
        begin, group = begin or number, [*group, line]
        if not line.endswith("\\"):
            yield begin, group
            begin, group = 0, []
    if group:
        yield begin, group


def joined_words(lines: Iterable[str]) -> list[str]:
    """Return the words of lines without their comments. A name in quotes may hold blanks.

    A backslash at the end of a word takes the next word, wherever it is, with nothing between; so does a backslash that
    is a word by itself.
    """
    words: list[str] = []
    joins = False
    for word in (word for line in lines for word in _WORD.findall(without_comment(line))):
        whole = words.pop() + word if joins and words else word
        joins = whole.endswith("\\")
        if whole := whole.removesuffix("\\"):
            words.append(whole)
    return words


def without_comment(text: str) -> str:
    """Cut each line at its first word that begins with #, and the blanks at its end."""
    kept = []
    for line in text.splitlines():
        comment = next((word.start() for word in _WORD.finditer(line) if word[0].startswith("#")), len(line))
        kept.append(line[:comment].rstrip())
    return "\n".join(kept)


def words_of(text: str) -> list[str]:
    """Return the words of a batch file's text."""
    return [word for _, lines in joined_lines(text) for word in joined_words(lines)]
