"""benchdnn lines: ``benchdnn --conv --dir=BWD_D --dt=f16 --stag=axb mb4_g1ic64ih28oc128oh10kh3sh3ph1``.

Options hold for all descriptors after them, also into and out of batch files, until another value or ``--reset``; one
with a comma has several values, and each descriptor is a problem with each. So an option that is not understood refuses
the descriptors that it holds for, and no others.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import product
from pathlib import Path

from bitgate.interop.benchdnn_perf import perf_request
from bitgate.interop.benchdnn_types import types_of_configuration
from bitgate.interop.decoding import decoded
from bitgate.interop.dialect import dialects
from bitgate.interop.found import Found, Refused, Understood, all_understood
from bitgate.interop.program import BenchdnnDriver, Values
from bitgate.model.problem import Problem, ProblemError

# Said of how it runs, not of the problem.
RUNNING = frozenset(
    (
        "alg", "allow-enum-tags-only", "attr-deterministic", "attr-same-pd-check", "attr-scratchpad",
        "buffer-prefix", "canonical", "check-ref-impl", "cold-cache", "cpu-isa-hints", "ctx-exe", "ctx-init",
        "engine", "execution-mode", "fast-ref", "fast-ref-gpu", "fix-times-per-prb", "global-impl", "impl",
        "max-ms-per-prb", "mem-check", "memory-kind", "mode", "mode-modifier", "num-streams", "perf-template",
        "repeats-per-prb", "runtime-dims-masks", "skip-impl", "start", "stream-kind", "summary", "verbose",
    )
)  # fmt: skip
NEUTRAL: dict[str, tuple[str, ...]] = {
    "attr-acc-mode": ("", "strict"),
    "attr-fpmath": ("", "strict"),
    "match": ("", ".*"),
    "strides": ("", ":", "::"),
}
"""Values that leave the problem as it is, of options that are not understood otherwise; of each ``attr-`` the empty."""

MOST_FILES = 1000
"""Batch files that one line may open: one that names another twice, and so on, would open 2^n."""
DEEPEST = 50
MOST_BYTES = 64 << 20
MOST_PROBLEMS = 1000
"""Values of all options that one descriptor may be combined with."""

QUOTE = '"'
_OPTION = re.compile(r"--?[A-Za-z]")
_WORD = re.compile(r'(?:[^\s"]|"[^"]*"?)+')


@lru_cache(maxsize=1)
def drivers() -> Mapping[str, BenchdnnDriver]:
    """Return the drivers that an operation here understands, by name."""
    return {name: driver for dialect in dialects() for name, driver in dialect.drivers.items()}


def parse(words: Sequence[str]) -> tuple[Problem, ...]:
    """Return the problems of a command line. ProblemError if there are none, or one is not understood."""
    return all_understood(found_in(words, Path(), ""))


def found_in(words: Sequence[str], folder: Path, where: str) -> Iterator[Found]:
    """Yield what a command line asks for, batch files included, which are sought in ``folder``."""
    reader = Reader(folder)
    if not any(word.lstrip("-") in drivers() for word in words[1:] if word.startswith("--")):
        raise ProblemError(f"only benchdnn {' and '.join(f'--{name}' for name in drivers())} are understood")
    yield from reader.words(words[1:], where)


def is_bare(text: str) -> bool:
    """Return whether this is a line of a batch file: options or a descriptor without a program's name."""
    first = next(iter(words_of(text)), "")
    return bool(_OPTION.match(first)) or any(driver.descriptor.match(first) for driver in drivers().values())


def words_of(line: str) -> list[str]:
    """Split a line of a batch file into words, without its comment. A name in quotes may hold blanks."""
    return _WORD.findall(without_comment(line))


def without_comment(text: str) -> str:
    """Cut each line at its first word that begins with #."""
    kept = []
    for line in text.splitlines():
        comment = next((word.start() for word in _WORD.finditer(line) if word[0].startswith("#")), len(line))
        kept.append(line[:comment])
    return "\n".join(kept).strip()


class Reader:
    """benchdnn's state between words: the driver and the values of its options. ``folder`` is where batch files
    are sought, ``path`` the file that the words are read from, if it is one."""

    def __init__(self, folder: Path, path: Path | None = None) -> None:
        self._driver = ""
        self._settings: dict[str, tuple[str, ...]] = {}
        self._running: dict[str, str] = {}
        """Options on how it runs: no reset and no driver ends them."""
        self._perf = perf_request({})
        self._folders = [folder]
        self._open: list[Path] = [path.resolve()] if path is not None else []
        self._opened = 0

    def words(self, words: Sequence[str], where: str) -> Iterator[Found]:
        """Yield what the words ask for; ``where`` they are is part of a refusal."""
        for word in words:
            name = word.lstrip("-").partition("=")[0].replace("_", "-")
            if not word.startswith("-"):
                yield from self._descriptor(word, where)
            elif name in drivers():
                self._driver, self._settings = name, {}
            elif name == "reset":
                self._settings = {}
            elif name == "batch":
                yield from self._batch(word.partition("=")[2], where)
            elif name in RUNNING:
                self._running[name] = word.partition("=")[2]
                self._perf = perf_request(self._running)
            elif not re.match(r"-v\d*$", word):
                self._set(name, word.partition("=")[2])

    def _set(self, name: str, value: str) -> None:
        if name == "cfg":
            name, value = "dt", ",".join(types_of_configuration(one) for one in value.split(","))
        self._settings[name] = tuple(value.split(","))

    def _descriptor(self, word: str, where: str) -> Iterator[Found]:
        driver = drivers()[self._driver or _driver_of(word)]
        settings = {name: (value,) for name, value in driver.defaults.items()} | self._settings
        count = 1
        for values in settings.values():
            count *= len(values)
        if count > MOST_PROBLEMS:
            yield Refused(where, f"descriptor '{word}' with {count} combinations of options: {MOST_PROBLEMS} at most")
            return
        begin, end = f"--{self._driver or _driver_of(word)}", _quoted(word)
        for combination in product(*settings.values()):
            chosen = dict(zip(settings, combination, strict=True))
            stated = [f"--{name}={value}" for name, value in chosen.items() if value != driver.defaults.get(name)]
            try:
                yield Understood(where, _problem(driver, word, chosen), " ".join([begin, *stated, end]), self._perf)
            except ProblemError as error:
                yield Refused(where, str(error))

    def _batch(self, name: str, where: str) -> Iterator[Found]:
        path = self._folders[-1] / name.replace("\0", "?")
        try:
            resolved = path.resolve()
            if resolved in self._open:
                raise ProblemError(f"--batch={name}: {path} is being read already, it names itself")
            if self._opened >= MOST_FILES or len(self._open) >= DEEPEST:
                raise ProblemError(
                    f"--batch={name}: at most {MOST_FILES} batch files are read, {DEEPEST} in each other"
                )
            lines = _text(path).splitlines()
        except UnicodeError:
            yield Refused(where, f"--batch={name!r}: no file can have this name")
            return
        except (ProblemError, OSError, RuntimeError) as error:  # a loop of links is a RuntimeError until Python 3.13
            yield Refused(where, str(error))
            return
        self._opened += 1
        self._open.append(resolved)
        self._folders.append(path.parent)
        for number, line in enumerate(lines, 1):
            yield from self.words(words_of(line), f"{path}:{number}")
        self._folders.pop()
        self._open.pop()


def _quoted(word: str) -> str:
    """Quote a descriptor as a batch file has it: a shell has taken the quotes of its name."""
    numbers, n, name = word.partition("n")
    return numbers + (f'n"{name.strip(QUOTE)}"' if n else "")


def _driver_of(word: str) -> str:
    """Return the driver of a descriptor without an option for it: the one that its form fits, else the first."""
    known = drivers()
    return next((name for name, driver in known.items() if driver.descriptor.match(word)), next(iter(known)))


def _problem(driver: BenchdnnDriver, word: str, values: Values) -> Problem:
    for name, value in values.items():
        neutral = NEUTRAL.get(name, ("",) if name.startswith("attr-") else ())
        if name not in driver.defaults and value not in neutral:
            said = f"--{name}={value}" if value else f"--{name}"
            raise ProblemError(f"option '{said}' is not understood: {', '.join(_known(driver))} are")
    return driver.problem(word, values)


def _known(driver: BenchdnnDriver) -> list[str]:
    return [f"--{name}" for name in (*driver.defaults, "cfg", "reset", "batch")]


def _text(path: Path) -> str:
    """Return a batch file's text; ProblemError says why there is none."""
    try:
        if not path.is_file():
            raise ProblemError(f"--batch: {path} is no file; batch files are sought next to the file that names them")
        if path.stat().st_size > MOST_BYTES:
            raise ProblemError(f"--batch: {path} has more than {MOST_BYTES >> 20} MiB, that is no list of problems")
        return decoded(path.read_bytes())
    except OSError as error:
        raise ProblemError(f"--batch: {path} cannot be read: {error.strerror}") from None
