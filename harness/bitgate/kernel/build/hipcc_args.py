"""Arguments of a hipcc command line: what is compiled, what is linked, and what means nothing on the host."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from bitgate.core.errors import UsageError

SOURCES = (".cpp", ".cc", ".cxx", ".cp", ".c++", ".C", ".hip", ".cu")
WITH_VALUE = ("-I", "-D", "-U", "-include", "-isystem", "-iquote", "-idirafter", "-MF", "-MT", "-MQ", "-Xpreprocessor")
"""Options of a compilation, whose value is the next word, or in the same one."""
LINKED_WITH_VALUE = ("-L", "-l", "-Xlinker", "-u", "-z", "-T")
LINKED = r"-Wl,.*|-static.*|-rdynamic|-s|-pie|-no-pie|-fuse-ld=.*|-[lL].*"
OF_A_GPU = (
    r"--(offload-arch|amdgpu-target|rocm-path|rocm-device-lib-path|hip-path|hip-version|hip-device-lib-path)=.*",
    r"--gpu-max-threads-per-block=.*",
    r"-f(no-)?gpu-.*",
    r"--(no-)?offload-(compress|new-driver)",
    r"-m(no-)?unsafe-fp-atomics",
    r"-nogpu(lib|inc)",
    r"-parallel-jobs=.*",
    r"-fhip-.*",
    r"--hip-link",
    r"-lamdhip64",
)
"""Options that are left out: they concern device code, or the place of ROCm."""
OF_A_GPU_WITH_VALUE = ("--offload-arch", "-mllvm", "-Xarch_device", "--rocm-path")
ASKED = r"-dump\w+|--?print-.*|-v|-###"
"""Questions of build systems about the compiler, which answers them itself if no file is given."""
DEVICE_ONLY = ("--genco", "--offload-device-only", "--cuda-device-only")
OLDEST = "17"
"""The standard of hipcc itself where none is stated; older ones are raised to it."""
OLDER = ("98", "03", "0x", "11", "1y", "14")
YEARS = {"1z": "17", "2a": "20", "2b": "23", "2c": "26"}
"""Years of the standards of C++ by their names before publication."""


@dataclass(frozen=True)
class HipccWords:
    """The parsed command line. ``mode`` is ``-c``, ``-E``, ``-S``, or empty: link.

    ``linked`` are words and files for the linker, in their order, sources among them.
    """

    sources: tuple[str, ...] = ()
    compiled: tuple[str, ...] = ()
    linked: tuple[str, ...] = ()
    output: str = ""
    mode: str = ""
    shared: bool = False
    race: bool = False
    standard: str = OLDEST
    is_version: bool = False
    asked: bool = False
    """True if the command line is a question about the compiler itself."""

    def object_of(self, source: str) -> str:
        """Return the file that ``-c`` makes of a source."""
        return self.output or Path(source).with_suffix(".o").name


def read_words(arguments: Sequence[str]) -> HipccWords:
    """Parse a command line. UsageError names a word that the host cannot obey, or a file that does not exist."""
    found = HipccWords()
    words = iter(_with_response_files(arguments))
    for word in words:
        if word in DEVICE_ONLY:
            raise UsageError(f"{word}: device code is for a GPU: build it with ROCm's hipcc, or bitgate compile")
        if any(re.fullmatch(pattern, word) for pattern in OF_A_GPU):
            continue
        value = ""
        if word in (*OF_A_GPU_WITH_VALUE, *WITH_VALUE, *LINKED_WITH_VALUE, "-o", "-x", "-Xarch_host"):
            value = next(words, "")
            if not value:
                raise UsageError(f"{word}: give what belongs to it as the next word")
        found = _with(found, word, value)
    if found.is_version or (not found.linked and any(re.fullmatch(ASKED, word) for word in found.compiled)):
        return replace(found, asked=not found.is_version)
    if not found.sources and not any(not word.startswith("-") for word in found.linked):
        raise UsageError("name a source to compile, or objects to link")
    if found.mode and found.output and len(found.sources) > 1:
        raise UsageError(f"-o {found.output} is one file, {found.mode} of {len(found.sources)} sources makes several")
    return found


def _with_response_files(arguments: Sequence[str]) -> Iterator[str]:
    """Replace ``@FILE`` by the words in it. UsageError if it cannot be read."""
    for word in arguments:
        if not word.startswith("@"):
            yield word
            continue
        try:
            yield from shlex.split(Path(word[1:]).read_text())
        except (OSError, ValueError) as error:
            raise UsageError(f"{word}: its words cannot be read: {error}") from None


def _with(found: HipccWords, word: str, value: str) -> HipccWords:
    both = (word, value) if value else (word,)
    if word in OF_A_GPU_WITH_VALUE or word == "-x":
        return found
    if word == "-Xarch_host":
        return replace(found, compiled=(*found.compiled, value))
    if word == "-o":
        return replace(found, output=value)
    if word in ("-c", "-E", "-S"):
        return replace(found, mode=word)
    if word == "--race":
        return replace(found, race=True)
    if word == "--version":
        return replace(found, is_version=True)
    if word == "-shared":
        return replace(found, shared=True, linked=(*found.linked, word))
    if word in LINKED_WITH_VALUE or re.fullmatch(LINKED, word):
        return replace(found, linked=(*found.linked, *both))
    if stated := re.fullmatch(r"-?-std=(?:gnu|c)\+\+(\d[\da-z])", word):
        year = YEARS.get(stated[1], stated[1])
        return replace(found, standard=OLDEST if year in OLDER else year)
    if word.startswith("-"):
        return replace(found, compiled=(*found.compiled, *both))
    if not Path(word).is_file():
        raise UsageError(f"{word}: no such file")
    is_source = Path(word).suffix in SOURCES
    return replace(found, sources=(*found.sources, word) if is_source else found.sources, linked=(*found.linked, word))
