"""The registry of kernel families: bitgate's own, and those that a project declares.

bitgate's declarations are loaded in any process. A user's is loaded in processes for kernels; elsewhere a child runs
its code, which must not end, hang or change a process in charge of a run.
"""

from __future__ import annotations

import re
import traceback
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from fnmatch import fnmatchcase
from functools import lru_cache
from pathlib import Path
from typing import Any, TypeAlias

from bitgate.core.errors import UsageError, meant, raised, traceback_of
from bitgate.core.project import Project, own_declarations, own_kernels
from bitgate.core.targets import PLATFORMS
from bitgate.core.untrusted import shown
from bitgate.kernel import abi
from bitgate.kernel.declaration import ANY_INTEGER, Instance, KernelFamily
from bitgate.kernel.declared_fields import check_fields
from bitgate.kernel.predicates import guarded
from bitgate.kernel.python_callable import PythonKernel
from bitgate.kernel.python_files import load_module
from bitgate.kernel.source import is_module
from bitgate.kernel.user_declaration import UserFamily
from bitgate.model import operations
from bitgate.model.dtype import spelled
from bitgate.worker.state import EXCUSABLE, EXCUSABLE_OF_RUNTIMES

_NAME = re.compile(r"[a-z0-9_]+")
_FUNCTION = re.compile(r"(::)?[A-Za-z_]\w*(::[A-Za-z_]\w*)*(<[\w\s:,<>*&.+-]*>)?")
"""A function's name in C++, with template arguments."""
_LIBRARY = re.compile(r"[A-Za-z0-9_+-]+")
"""A library's name as of ``-l``; anything else is a file."""
Text: TypeAlias = "tuple[str, type[Any], str, str]"
"""A text with its name for people and its field of abi.h (structure, name); the text comes last."""
MOST_OPTIONS = 16
"""The value of ``max_options`` in options.hpp."""
HINT = "a kernel of yours is known once it is loaded: load in bitgate.toml, --load FILE, or BITGATE_LOAD"
"""The end of a message about an unknown kernel."""


def families(
    project: Project | None = None,
    target: str | None = None,
    *,
    here: bool = False,
    own: Sequence[Path] | None = None,
    declared: Mapping[str, Mapping[str, Any]] | None = None,
) -> dict[str, KernelFamily]:
    """Return families by name, bitgate's own first, then the project's; with the instances that fit ``target``, if any.

    ``here``: a user's code may run in this process, since it is one for kernels. ``own``: declarations in place of
    bitgate's own, of another commit. ``declared``: by file, what a child has read of declarations whose code must not
    run here. UsageError names the file and what is wrong with it.
    """
    found: dict[str, KernelFamily] = {}
    places: dict[str, Path] = {}
    ours = own_declarations() if own is None else tuple(own)
    for path in [*ours, *map(_declaration_file, project.declarations if project else ())]:
        known = (declared or {}).get(str(path.resolve()))
        if known is not None:
            family = UserFamily(path.resolve(), known).family
        else:
            family = load_here(path.resolve()) if here or path in ours else load_family(path.resolve())
        if family.name in found and places[family.name] != path.resolve():
            raise UsageError(f"{path}: kernel family '{family.name}' is declared by {places[family.name]} already")
        found[family.name], places[family.name] = family, path.resolve()
    return found if target is None else {name: family.on(target) for name, family in found.items()}


def select(
    glob: str | None,
    project: Project | None = None,
    target: str | None = None,
    own: Sequence[Path] | None = None,
) -> list[tuple[KernelFamily, Instance]]:
    """Return the instances whose ``family.instance``, or whose family, the glob matches; all for None.

    ``own`` is as for ``families``. UsageError with the nearest name if there are none.
    """
    known = families(project, target, own=own)
    if not known:
        raise UsageError(f"no kernel family is declared in {own_kernels()}: give one with --load")
    chosen = _matching(glob, known)
    if not chosen and target is not None and _matching(glob, families(project, own=own)):
        raise UsageError(
            f"no kernel that '{glob}' matches is for {target}: they have other waves, or ask for matrix instructions"
        )
    if not chosen:
        names = [*known, *(f"{family.name}.{i.name}" for family in known.values() for i in family.instances)]
        hint = meant((glob or "").strip("*"), names, 0.5)
        raise UsageError(f"no kernel matches '{glob}'{hint}; {HINT}")
    return chosen


def _matching(glob: str | None, known: Mapping[str, KernelFamily]) -> list[tuple[KernelFamily, Instance]]:
    return [
        (family, instance)
        for family in known.values()
        for instance in family.instances
        if glob is None or fnmatchcase(family.name, glob) or fnmatchcase(f"{family.name}.{instance.name}", glob)
    ]


def load_family(path: Path) -> KernelFamily:
    """Return the ``FAMILY`` of one declaration file, whose code runs in a child. UsageError as ``families``."""
    return _user_family(path).family


@lru_cache(maxsize=64)
def _user_family(path: Path) -> UserFamily:
    return UserFamily(path)


def declared_sources(project: Project) -> dict[str, dict[str, Any]]:
    """Return what children have read of the project's families of device code, by file.

    bitgate launches such kernels itself: no code of their declarations may run where kernels do.
    """
    read = {
        str(path): _user_family(path) for path in (_declaration_file(one).resolve() for one in project.declarations)
    }
    return {path: one.declared for path, one in read.items() if one.family.source is not None}


@lru_cache(maxsize=64)
def load_here(path: Path) -> KernelFamily:
    """Return the ``FAMILY`` of one declaration file, whose code runs in this process."""
    if not path.is_file():
        raise UsageError(f"{path}: no such declaration file")
    try:
        module = load_module(path)
    except UsageError:
        raise
    except Exception as error:
        raise UsageError(f"{path}{_format_line(error, path)}: {shown(raised(error))}") from None
    family = getattr(module, "FAMILY", None)
    if not isinstance(family, KernelFamily):
        what = "defines no FAMILY" if family is None else f"FAMILY is of type {type(family).__name__}"
        near = next((name for name, one in vars(module).items() if isinstance(one, KernelFamily)), "")
        hint = (
            f"{near} is one: call it FAMILY" if near else "write FAMILY = KernelFamily(name=..., operations=..., ...)"
        )
        raise UsageError(f"{path}: {what}: {hint}; KernelFamily is of bitgate.kernel, bitgate kernels new makes one")
    if family.folder == Path():
        family = replace(family, folder=path.parent)
    try:
        check_fields(family)
        fault = next(iter(_faults(family)), None)
    except Exception as error:  # any value may be in any field
        what = f"FAMILY has a field of another type or value than KernelFamily says: {shown(error)}"
        raise UsageError(f"{path}: {what}") from None
    if fault is not None:
        raise UsageError(f"{path}: {shown(fault)}")
    return guarded(family)


def _declaration_file(path: Path) -> Path:
    return path / "declaration.py" if path.is_dir() else path


def _format_line(error: Exception, path: Path) -> str:
    if isinstance(error, SyntaxError):
        return f":{error.lineno}"
    lines = [frame.lineno for frame in traceback.extract_tb(traceback_of(error)) if frame.filename == str(path)]
    return f":{lines[-1]}" if lines else ""


def _faults(family: KernelFamily) -> Iterator[str]:
    """Yield the faults of a declaration, in the order in which to fix them."""
    if not _NAME.fullmatch(family.name):
        yield f"the family's name '{family.name}' may hold a-z, 0-9 and _ only"
    if not family.folder.is_dir():
        yield f"folder {family.folder} does not exist"
    if [bool(family.sources), family.library is not None, family.opens is not None].count(True) != 1:
        yield "name sources, or a prebuilt library, or what opens its kernels: one of the three"
    for name in family.generated:
        if name not in family.sources:
            yield f"generates '{name}', which sources does not name"
    if not family.instances:
        yield "lists no instances"
    names = [instance.name for instance in family.instances]
    for name in names:
        if not _NAME.fullmatch(name):
            yield f"instance name '{name}' may hold a-z, 0-9 and _ only"
        if names.count(name) > 1:
            yield f"instance '{name}' is listed twice"
    for instance in family.instances:
        yield from _instance_faults(instance, tuple(map(str, family.operations_of(instance))))
    excusable = EXCUSABLE if family.opens is None else (*EXCUSABLE, *EXCUSABLE_OF_RUNTIMES)
    for change in family.changes:
        if change not in excusable:
            yield f"changes names '{change}': {', '.join(excusable)} may be stated, all else is never excused"
    is_of_numpy = isinstance(family.opens, PythonKernel) and family.opens.tensors == "numpy"
    if is_of_numpy and tuple(family.platforms) != ("host",):
        yield "platforms: a function of numpy's arrays gets the host's memory: state ('host',), or tensors='torch'"
    for option in family.options:
        if option.values != ANY_INTEGER and option.production not in option.values:
            yield f"option '{option.name}': production value '{option.production}' is not among {option.values}"
    if family.is_built:
        yield from _what_the_abi_cuts(family)
    yield from _build_faults(family)


def _module_faults(family: KernelFamily) -> Iterator[str]:
    """Yield the faults of a family whose sources are compiled device code."""
    for source in family.sources:
        if not is_module([source]):
            yield f"sources names '{source}' beside compiled device code: a family has the one or the other"
        elif not (family.folder / source).is_file():
            yield f"sources names '{source}': {family.folder / source} is no file"
    if "host" in family.platforms:
        yield "platforms names host: compiled device code runs on no host"


def _build_faults(family: KernelFamily) -> Iterator[str]:
    """Yield the faults of what a family's build needs."""
    if family.source is not None:
        if not family.sources or family.generated:
            yield "source: name the files of its kernels in sources, and generate none"
        if not family.source.kernels:
            yield "source: kernels names none: give the C++ names of what is launched, such as 'saxpy<float>'"
        if is_module(family.sources):
            yield from _module_faults(family)
        for name in family.source.kernels:
            if not _FUNCTION.fullmatch(name) or family.source.kernels.count(name) > 1:
                yield f"source: kernels names '{name}': give each once, as C++ does: 'mine::gemm<float, 16>'"
        for instance in family.instances:
            if len(family.operations_of(instance)) != 1:
                yield f"instance '{instance.name}': of a source it computes one operation: list one for each"
    stated = [name for name in ("include_dirs", "flags", "defines", "libraries") if getattr(family, name)]
    if stated and not family.sources:
        yield f"{stated[0]} is for a compiler: a family without sources has none"
    for folder in family.include_dirs:
        if not (family.folder / folder).is_dir():
            yield f"include_dirs names '{folder}', and {family.folder / folder} is no folder"
    for library in family.libraries:
        if not _LIBRARY.fullmatch(library) and not (family.folder / library).is_file():
            yield f"libraries names '{library}': {family.folder / library} is no file; a name is as of -l, without lib"
    for platform in family.flags if isinstance(family.flags, Mapping) else ():
        if platform not in PLATFORMS:
            yield f"flags are for '{platform}': the platforms are {', '.join(PLATFORMS)}"


def _what_the_abi_cuts(family: KernelFamily) -> Iterator[str]:
    """Yield texts that are too long for abi.h: the library would state their beginning as the whole."""
    texts: list[Text] = [(f"the family's name '{family.name}'", abi.CAbiInfo, "family", family.name)]
    texts += [(f"instance name '{one.name}'", abi.CDispatchRecord, "instance", one.name) for one in family.instances]
    for option in family.options:
        stated = {"name": option.name, "values": ",".join(option.values)}
        stated |= {"production": option.production, "help": option.help}
        texts += [(f"option '{option.name:.40}': {name}", abi.COptionInfo, name, text) for name, text in stated.items()]
    for what, structure, name, text in texts:
        if (size := len(text.encode())) > (longest := abi.longest_text(structure, name)):
            yield f"{what} has {size} bytes, abi.h has room for {longest}: shorten it here and in the library"
    if family.sources and len(family.options) > MOST_OPTIONS:
        yield f"has {len(family.options)} options, options.hpp takes {MOST_OPTIONS}: leave some out"


def _instance_faults(instance: Instance, offered: Sequence[str]) -> Iterator[str]:
    for spelling in instance.dtypes:
        try:
            if (written := spelled(spelling)) != spelling:
                yield f"instance '{instance.name}': write dtypes '{spelling}' as '{written}'"
        except ValueError as error:
            yield f"instance '{instance.name}': {error}"
    for length, size in instance.tiles.items():
        if not isinstance(size, int) or size < 1:
            yield f"instance '{instance.name}': tiles: {length} is {size!r}: give a number from 1 up"
    every = operations()
    known = {layout for operation in every.values() for layout in operation.layouts}
    theirs = {layout for name in offered if name in every for layout in every[name].layouts}
    for layout in instance.layouts:
        if layout in known:
            continue
        begin = f"instance '{instance.name}': unknown layout '{layout}'"
        if theirs or not every.keys() & {*offered}:
            yield f"{begin} (known: {', '.join(sorted(theirs or known))})"
        else:
            yield f"{begin}: {', '.join(offered)} takes none: write layouts=(), strides say where cells lie"
