"""A submission's declaration as the judge takes it: what would soften its own judging is the judge's to state."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from bitgate.core.files import write_whole
from bitgate.kernel.build.includes import MOST_TEXT, odd_file
from bitgate.kernel.declaration import Instance, KernelFamily
from bitgate.kernel.python_callable import OF_TORCH
from bitgate.kernel.registry import load_here
from bitgate.kernel.source import is_module
from bitgate.model import DTYPES, Accumulation

TEXT = '''"""The declaration {file}, as it is judged: bitgate judge wrote this file."""

from bitgate.tools.judge.declared import judged_family

FAMILY = judged_family({file!r})
'''
WIDER = (("f64", "f64"), ("i8", "i32"), ("i32", "i32"))
"""Element types that are not summed in f32, and what they are summed in."""

ALLOWED = re.compile(
    r"-O[0-3]?|-[DU]\w+(=[\w.,+-]*)?|-W[\w=-]+|-std=[\w+]+|-f(no-)?(fast-math|associative-math|unroll-loops|math-errno)"
    r"|--?use_fast_math|--?fmad=(true|false)|--?maxrregcount=\d+|--?expt-[a-z-]+|--?extended-lambda|--?lineinfo"
)
"""Flags of a declaration that a compiler outside of the sandbox may get: none that loads or starts anything."""


def accumulations(dtypes: tuple[str, ...]) -> dict[str, Accumulation]:
    """Return the contract for each spelling of types: no submission states that it sums in fewer bits."""
    found = {}
    for spelling in dtypes:
        words = spelling.split("_")
        found[spelling] = Accumulation(DTYPES[next((wide for narrow, wide in WIDER if narrow in words), "f32")])
    return found


def declare_judged(declaration: Path, into: Path) -> Path:
    """Write the declaration that is judged instead of a submission's, into a folder; return its path.

    It is in another folder than the submission's, whose ``operation.py`` nothing loads.
    """
    into.mkdir(parents=True, exist_ok=True)
    write_whole(into / "declaration.py", TEXT.format(file=str(declaration)))
    return into / "declaration.py"


def judged_family(file: str) -> KernelFamily:
    """Return the family of a submission's declaration file, as it is judged."""
    return restrained(load_here(Path(file)))


def restrained(family: KernelFamily) -> KernelFamily:
    """Return a family that states nothing of how it is judged: no contract, no excuse for what it changes, and
    that it is no reference and no probe."""

    def judged(instance: Instance) -> Instance:
        return replace(instance, accumulation=accumulations(instance.dtypes), rounds_slices=False)

    changes = OF_TORCH if family.opens is not None else ()
    instances = tuple(map(judged, family.instances))
    return replace(family, instances=instances, changes=changes, is_reference=False, is_probe=False)


def why_not_built(family: KernelFamily, folder: Path) -> str:
    """Return what in a declaration, or in its sources in a folder, could have its compiler or linker run code of the
    submission, outside of the sandbox, or read without end; empty if there is nothing."""
    for flags in family.flags.values() if isinstance(family.flags, Mapping) else (family.flags,):
        for flag in flags:
            if not ALLOWED.fullmatch(flag):
                return f"its declaration asks for the compiler flag {flag!r}, which a judged kernel may not have"
    for name, value in family.defines.items():
        if not re.fullmatch(r"\w+", name) or "\n" in str(value):
            return f"its declaration defines {name!r} as {str(value)!r:.100}: give a name, and one line"
    odd = next((one for one in (*family.libraries, *family.sources) if not re.fullmatch(r"[\w./+-]+", one)), None)
    if odd:
        return f"its declaration names the file {odd!r}: a judged kernel's files have plain names"
    if is_module(family.sources):
        return ""
    folders = [folder, *(folder / one for one in family.include_dirs)]
    file = odd_file([folder / one for one in family.sources], folders)
    most = MOST_TEXT >> 20
    return f"it includes {file}, which is no regular file of at most {most} MiB" if file else ""
