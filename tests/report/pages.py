"""A page as a reader finds it, by the standard library's parser: texts, tables and pictures, without its script."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

VOID = {"meta", "input", "br"}


@dataclass
class Node:
    """An element with its attributes, the texts and elements in it."""

    tag: str
    attributes: dict[str, str] = field(default_factory=dict)
    children: list[Node | str] = field(default_factory=list)

    @property
    def text(self) -> str:
        return " ".join(" ".join(c if isinstance(c, str) else c.text for c in self.children).split())

    def all(self, tag: str = "", kind: str = "", **attributes: str) -> list[Node]:
        """Every element below of this tag, class and attributes, in the order of the page."""
        found = []
        for child in self.children:
            if isinstance(child, Node):
                stated = not tag or child.tag == tag
                stated &= not kind or kind in child.attributes.get("class", "").split()
                if stated and all(child.attributes.get(name) == value for name, value in attributes.items()):
                    found.append(child)
                found += child.all(tag, kind, **attributes)
        return found

    def one(self, tag: str = "", kind: str = "", **attributes: str) -> Node:
        return self.all(tag, kind, **attributes)[0]


class Page(HTMLParser):
    """The tree of a page. An element that is closed wrongly is an AssertionError."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.text = text
        self.root = Node("")
        self._open = [self.root]
        self.feed(text)
        self.close()
        assert self._open == [self.root], [one.tag for one in self._open]

    @classmethod
    def of(cls, file: Path) -> Page:
        return cls(file.read_text())

    @property
    def rows(self) -> list[dict[str, Any]]:
        """The table of all cases, as the script decodes it."""
        data = json.loads(self.root.one("script", id="data").text)
        *words, last = data["columns"]
        named = [dict(zip(words, map(data["words"].__getitem__, row), strict=False)) for row in data["rows"]]
        return [one | {last: row[-1]} for one, row in zip(named, data["rows"], strict=True)]

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        node = Node(tag, {name: value or "" for name, value in attrs})
        self._open[-1].children.append(node)
        if tag not in VOID:
            self._open.append(node)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self._open[-1].children.append(Node(tag, {name: value or "" for name, value in attrs}))

    def handle_endtag(self, tag: str) -> None:
        assert self._open.pop().tag == tag

    def handle_data(self, data: str) -> None:
        self._open[-1].children.append(data)
