"""Removal of what identifies the user and the machine from a text: a bundle goes to people who need not know.

That is user names, home folders, host names, addresses (IP, MAC, mail), UUIDs and serial numbers. Paths below a known
folder are written relative to it. JSON stays JSON, and a second scrubbing changes nothing.
"""

from __future__ import annotations

import ipaddress
import json
import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property

# fmt: off
GENERIC = frozenset((
    "root", "user", "users", "admin", "home", "host", "hosts", "localhost", "local", "gpu", "amd", "nvidia", "rocm",
    "cuda", "hip", "bitgate", "runner", "ubuntu", "debian", "build", "builder", "test", "tests", "jenkins", "gitlab",
    "github", "node", "worker", "smoke", "probe", "device", "kernel", "runtime", "driver", "python", "tools",
    "platform", "target", "null", "true", "false", "none", "nan", "infinity",
))
# fmt: on
"""Names that are words of a report too: they identify no one, and removing them would spoil it."""

SHORTEST = 3
"""Shortest name that is removed: a shorter one occurs in too many words, and is removed only in paths."""

REVEALING_LENGTH = 5
"""Characters of a name that does not occur in numbers by chance."""

_MAC = re.compile(
    r"(?<![0-9A-Fa-f])(?<![0-9A-Fa-f][:-])[0-9A-Fa-f]{2}([:-])[0-9A-Fa-f]{2}(?:\1[0-9A-Fa-f]{2}){4,18}(?![0-9A-Fa-f])"
)
_UUID = re.compile(r"(?i)(?<![0-9a-f])[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}(?![0-9a-f])")
_GPU = re.compile(r"\b(GPU|MIG)-[0-9a-fA-F]{16}\b")
_V4 = re.compile(r"(?<!\d)(?<!\d\.)(?:\d{1,3}\.){3}\d{1,3}(?!\d|\.\d)")
# Nothing that begins with colons: `::add` is a name in C++.
_V6 = re.compile(r"(?<![0-9A-Za-z:.])(?=[0-9A-Fa-f]{1,4}:[0-9A-Fa-f]{0,4}:)[0-9A-Fa-f:]{4,39}(?![\w:])")
_MAIL = re.compile(r"(?<![\w.+-])[\w.+-]{1,64}@[\w-]{1,63}(?:\.[\w-]{1,63})*\.[A-Za-z]{2,}")
_SERIAL = re.compile(
    r"(?i)(\b(?:serial(?:[ _-]?(?:number|no\.?|num|id))?|unique[ _-]?id|asset[ _-]?tag|chassis[ _-]?id|guid)"
    r"[\"']?\s*[:=]\s*)([\"']?)(?:0x)?([0-9A-Za-z][0-9A-Za-z_.+-]{3,})"
)
_HOMES = re.compile(r"(?<![\w.])/(home|Users)/(?!USER\b)[^/\s\"'\\:;,()\[\]{}<>|&=`*?!$#]+")


@dataclass(frozen=True)
class Scrubber:
    """A filter that removes names. ``users`` and ``hosts`` are names; ``folders`` maps paths to replacements, ``~`` for
    a home."""

    users: tuple[str, ...] = ()
    hosts: tuple[str, ...] = ()
    folders: tuple[tuple[str, str], ...] = ()

    def text(self, text: str) -> str:
        for folder, name in self._folders:
            text = folder.sub(lambda _, name=name: name, text)  # type: ignore[misc]
        text = _HOMES.sub(r"/\1/USER", text)
        text = _MAIL.sub("MAIL", text)
        text = _UUID.sub("UUID", text)
        text = _GPU.sub(r"\1-UUID", text)
        text = _SERIAL.sub(_serial, text)
        text = _MAC.sub("MAC", text)
        text = _V4.sub(_address, text)
        text = _V6.sub(_address, text)
        for stated, word in ((self._stated_hosts, "HOST"), (self._stated_users, "USER")):
            if stated is not None:
                text = stated.sub(rf"\1{word}\2", text)
        for names, word in ((self._hosts, "HOST"), (self._users, "USER")):
            if names is not None:
                text = names.sub(word, text)
        return text

    def reveals(self, data: bytes) -> str:
        """Say what bytes that cannot be scrubbed would reveal; empty if nothing known."""
        for what, names in (("a user name", self.users), ("the host's name", self.hosts)):
            if any(name.encode() in data for name in _worth(names) if len(name) >= REVEALING_LENGTH):
                return what
        paths = [path for path, _ in self.folders] + [f"/{name}/" for name in _worth(self.users)]
        return "a path of this machine" if any(path.encode() in data for path in paths if len(path) > 3) else ""

    @cached_property
    def _folders(self) -> list[tuple[re.Pattern[str], str]]:
        """Patterns of the folders, the longest first, since one may contain another."""
        known = {folder.rstrip("/"): name for folder, name in self.folders}
        spelled = {spelling: name for folder, name in known.items() for spelling in _spellings(folder)}
        every = sorted((path for path in spelled if len(path) > 1), key=len, reverse=True)
        return [(re.compile(rf"{re.escape(path)}(?![\w.-])"), spelled[path]) for path in every]

    @cached_property
    def _users(self) -> re.Pattern[str] | None:
        return _name_pattern(self.users)

    @cached_property
    def _hosts(self) -> re.Pattern[str] | None:
        return _name_pattern(self.hosts)

    @cached_property
    def _stated_hosts(self) -> re.Pattern[str] | None:
        return _stated("host|hostname|node|nodename", self.hosts)

    @cached_property
    def _stated_users(self) -> re.Pattern[str] | None:
        return _stated("user|username|login", self.users)


def _stated(keys: str, names: Iterable[str]) -> re.Pattern[str] | None:
    """Return a pattern of JSON fields that hold a name: there even the shortest counts."""
    every = sorted({json.dumps(name)[1:-1] for name in names if name} | set(filter(None, names)), key=len, reverse=True)
    if not every:
        return None
    return re.compile(rf'(?i)("(?:{keys})"\s*:\s*")(?:{"|".join(map(re.escape, every))})(")')


def _worth(names: Iterable[str]) -> list[str]:
    return [name for name in names if len(name) >= SHORTEST and name.lower() not in GENERIC]


def _name_pattern(names: Iterable[str]) -> re.Pattern[str] | None:
    """Return a pattern of whole words in any case: text after ``_`` or ``-`` counts as a word."""
    every = sorted({spelling for name in _worth(names) for spelling in _spellings(name)}, key=len, reverse=True)
    if not every:
        return None
    return re.compile(rf"(?i)(?<![0-9A-Za-z])(?:{'|'.join(map(re.escape, every))})(?![0-9A-Za-z])")


def _spellings(text: str) -> set[str]:
    """Return a text as it is, and as JSON escapes it."""
    return {text, json.dumps(text)[1:-1]}


def _serial(match: re.Match[str]) -> str:
    """Replace a serial number; a number in JSON stays one."""
    label, quote, value = match.groups()
    if '"' in label and not quote:
        return match[0] if value in ("null", "true", "false") else f"{label}0"
    return f"{label}{quote}SERIAL"


def _address(match: re.Match[str]) -> str:
    text = match[0]
    try:
        address = ipaddress.ip_address(text)
    except ValueError:
        return text
    return text if address.is_loopback or address.is_unspecified else "IP"
