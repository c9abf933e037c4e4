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
from math import prod
from pathlib import Path

from bitgate.interop.benchdnn_match import Pattern
from bitgate.interop.benchdnn_perf import perf_request
from bitgate.interop.benchdnn_types import types_of_configuration
from bitgate.interop.benchdnn_words import joined_lines, joined_words, words_of
from bitgate.interop.decoding import decoded
from bitgate.interop.dialect import dialects
from bitgate.interop.found import Found, Refused, Understood, all_understood
from bitgate.interop.program import BenchdnnDriver, Values
from bitgate.model.problem import Problem, ProblemError

# Said of how it runs, not of the problem.
RUNNING = frozenset(
    (
        "alg", "allow-enum-tags-only", "attr-deterministic", "attr-same-pd-check", "attr-scratchpad",
        "buffer-prefix", "canonical", "check-ref-impl", "cold-cache", "concise", "cpu-isa-hints", "ctx-exe",
        "ctx-init", "engine", "execution-mode", "fast-ref", "fast-ref-gpu", "fix-times-per-prb", "global-impl",
        "global-skip-impl", "impl", "max-ms-per-prb", "mem-check", "memory-kind", "mode", "mode-modifier",
        "num-streams", "perf-template", "repeats-per-prb", "runtime-dims-masks", "skip-impl", "start",
        "stream-kind", "summary", "verbose",
    )
)  # fmt: skip
NEUTRAL: dict[str, tuple[str, ...]] = {
    "attr-acc-mode": ("", "strict"),
    "encoding": ("",),
    "grouped": ("",),
    "attr-fpmath": ("", "strict", "strict:false"),
    "strides": ("", ":", "::"),
}
"""Values that leave the problem as it is, of options that are not understood otherwise; of each ``attr-`` the empty."""

MOST_FILES = 1000
"""Batch files that one line may open: one that names another twice, and so on, would open 2^n."""
DEEPEST = 50
MOST_BYTES = 64 << 20
MOST_PROBLEMS = 20_000
"""Values of all options that one descriptor may be combined with."""

QUOTE = '"'
_OPTION = re.compile(r"--?[A-Za-z]")
_ALIKE = frozenset(("deconv", "binary", "brgemm", "concat", "ip", "pool", "prelu", "sdpa"))
"""Drivers of benchdnn's whose descriptors may look like those of one here."""


@lru_cache(maxsize=1)
def drivers() -> Mapping[str, BenchdnnDriver]:
    """Return the drivers that an operation here understands, by name."""
    return {name: driver for dialect in dialects() for name, driver in dialect.drivers.items()}


def parse(words: Sequence[str]) -> tuple[Problem, ...]:
    """Return the problems of a command line. ProblemError if there are none, or one is not understood."""
    return all_understood(found_in(words, Path(), ""))


def found_in(words: Sequence[str], folder: Path, where: str) -> Iterator[Found]:
    """Yield what a command line asks for, batch files included, which are sought in ``folder``.

    benchdnn ends at a word that is no descriptor, so nothing after it is read.
    """
    if not any(word.lstrip("-") in drivers() for word in words[1:] if word.startswith("--")):
        raise ProblemError(f"only benchdnn {' and '.join(f'--{name}' for name in drivers())} are understood")
    known = [word for word in words[1:] if word.startswith("-") or _drivers_of(word)]
    wrong = next((word for word in words[1:] if word not in known), None)
    yield from Reader(folder).words(words[1 : words.index(wrong)] if wrong else words[1:], where)
    if wrong:
        yield Refused(where, f"'{wrong}' is no descriptor: benchdnn ends there, so nothing from it on is read")


def is_bare(text: str) -> bool:
    """Return whether this is a line of a batch file: options or a descriptor without a program's name."""
    first = next(iter(words_of(text)), "")
    return bool(_OPTION.match(first) or _drivers_of(first))


class Reader:
    """benchdnn's state between words: the driver and the values of its options.

    ``folder`` is where batch files are sought; ``path`` is the file that the words are read from, if it is one, and
    ``text`` what it holds.
    """

    def __init__(self, folder: Path, path: Path | None = None, text: str = "") -> None:
        self._driver = ""
        self._settings: dict[str, tuple[str, ...]] = {}
        self._combined: dict[str, list[tuple[Values, str]]] = {}
        """Combinations of the settings by driver, each with the reason for which it is refused, until one changes."""
        self._running: dict[str, str] = {}
        """Options on how it runs: no reset and no driver ends them."""
        self._perf = perf_request({})
        self._folders = [folder]
        self._open: list[Path] = [path.resolve()] if path is not None else []
        self._others = [_other_driver(path, text) if path is not None else ""]
        self._opened = 0

    def words(self, words: Sequence[str], where: str) -> Iterator[Found]:
        """Yield what the words ask for; ``where`` they are is part of a refusal."""
        for word in words:
            name, equals, value = word.lstrip("-").partition("=")
            name = name.replace("_", "-")
            if not word.startswith("-"):
                yield from self._descriptor(word, where)
            elif name == "reset":
                self._settings, self._combined = {}, {}
            elif name == "batch":
                yield from self._batch(value, where)
            elif name in RUNNING:
                self._running[name] = value
                self._perf = perf_request(self._running)
            elif equals:
                self._set(name, value)
            elif not re.match(r"-(v\d*|c)$", word):  # what has no value names a driver, understood or not
                self._driver, self._settings, self._combined = name, {}, {}

    def _set(self, name: str, value: str) -> None:
        """Set an option; an empty value is the default."""
        self._combined = {}
        if name == "cfg":
            name, value = "dt", ",".join(types_of_configuration(one) for one in value.split(","))
        known = name == "match" or name in NEUTRAL or any(name in driver.defaults for driver in drivers().values())
        if not value and (known or name.startswith("attr-")):
            self._settings.pop(name, None)
        else:
            self._settings[name] = (value,) if name == "match" else tuple(value.split(","))

    def _descriptor(self, word: str, where: str) -> Iterator[Found]:
        """Yield the problems of a descriptor, each once, and a refusal for each combination that is not understood."""
        likely = next(iter(_drivers_of(word)), next(iter(drivers())))
        name = self._driver or likely
        driver = drivers().get(name)
        if driver is None:
            known = ", ".join(_known(drivers()[likely]))
            yield Refused(where, f"option '--{name}' is not understood: {known} are")
            return
        if not self._driver and self._others[-1]:
            yield Refused(where, f"--{name} is not stated, and {self._others[-1]}: put --{name} before it if it is one")
            return
        try:
            pattern = Pattern(self._settings["match"][0]) if "match" in self._settings else None
            combinations = self._combinations(name)
        except ProblemError as error:
            yield Refused(where, f"descriptor '{word}': {error}")
            return
        seen: set[Problem] = set()
        for values, refusal in combinations:
            try:
                if pattern is not None and not pattern.found_in(driver.spelled(word, values)):
                    continue
                if refusal:
                    raise ProblemError(refusal)
                stated = [f"--{one}={value}" for one, value in values.items() if value != driver.defaults.get(one)]
                line = " ".join([f"--{name}", *stated, _quoted(word)])
                for problem, note in driver.problems(word, values):
                    if problem not in seen:
                        perf = self._perf.noting(note) if note else self._perf
                        yield Understood(where, problem, line, perf, note)
                    seen.add(problem)
            except ProblemError as error:
                yield Refused(where, str(error))

    def _combinations(self, name: str) -> list[tuple[Values, str]]:
        """Return each combination of the options' values once, with the reason for which it is refused, or none."""
        if name not in self._combined:
            driver = drivers()[name]
            stated = {one: values for one, values in self._settings.items() if one != "match"}
            settings = {one: (value,) for one, value in driver.defaults.items()} | stated
            count = prod(len(set(values)) for values in settings.values())
            if count > MOST_PROBLEMS:
                raise ProblemError(f"{count} combinations of options: {MOST_PROBLEMS} at most")
            chosen = (
                dict(zip(settings, values, strict=True)) for values in product(*map(dict.fromkeys, settings.values()))
            )
            settled = {tuple(values.items()): values for values in map(driver.settled, chosen)}
            self._combined[name] = [(values, _refusal(driver, values)) for values in settled.values()]
        return self._combined[name]

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
            text = _text(path)
        except UnicodeError:
            yield Refused(where, f"--batch={name!r}: no file can have this name")
            return
        except (ProblemError, OSError, RuntimeError) as error:  # a loop of links is a RuntimeError until Python 3.13
            yield Refused(where, str(error))
            return
        self._opened += 1
        self._open.append(resolved)
        self._folders.append(path.parent)
        self._others.append(self._others[-1] or _other_driver(path, text))
        for number, lines in joined_lines(text):
            yield from self.words(joined_words(lines), f"{path}:{number}")
        for stack in (self._others, self._folders, self._open):
            stack.pop()


def _other_driver(path: Path, text: str) -> str:
    """Return why a file seems to hold descriptors of a driver that is not understood, else nothing."""
    for what, name in (("folder", path.absolute().parent.name), ("name", path.name)):
        words = {name} if what == "folder" else set(re.split(r"[^A-Za-z]+", name))
        if words & set(drivers()):
            return ""
        if other := next(iter(sorted(words & _ALIKE)), ""):
            return f"the {what} of its file says {other}"
    for word in words_of(text):
        if word.startswith("-") or not _drivers_of(word):
            continue
        other = next((other for driver in drivers().values() if (other := driver.resembles(word))), "")
        if other:
            return f"'{word}' in its file is one of --{other} by its name or lengths"
    return ""


def _quoted(word: str) -> str:
    """Quote a descriptor as a batch file has it: a shell has taken the quotes of its name."""
    numbers, n, name = word.partition("n")
    return numbers + (f'n"{name.strip(QUOTE)}"' if n else "")


def _drivers_of(word: str) -> list[str]:
    """Return the drivers whose descriptors begin like a word."""
    return [name for name, driver in drivers().items() if driver.descriptor.match(word.lstrip("_"))]


def _refusal(driver: BenchdnnDriver, values: Values) -> str:
    """Return why a combination is refused, whatever the descriptor: an option that is not understood; else nothing."""
    for name, value in values.items():
        neutral = NEUTRAL.get(name, ("",) if name.startswith("attr-") else ())
        if name not in driver.defaults and value not in neutral:
            return f"option '--{name}={value}' is not understood: {', '.join(_known(driver))} are"
    return ""


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
