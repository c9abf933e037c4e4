"""Plain ``__global__`` functions as kernels: what a declaration states of them, and their launches as data.

A user's function states the launches of a problem. It runs in the declaration's child like ``supports``; its answer
crosses to the process that launches as JSON, and is checked on both sides.
"""

from __future__ import annotations

import operator
import sys
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, SupportsFloat, SupportsIndex, TypeAlias, TypeGuard

from bitgate.core.untrusted import shown
from bitgate.kernel.declaration import Instance

WORKSPACE = "workspace"
"""The role of the scratch memory, next to those of the problem's tensors."""
MOST_STEPS = 4096
"""Most launches of one problem."""
MODULES = (".hsaco", ".co", ".cubin", ".fatbin", ".ptx")
"""The endings of files of device code that is compiled already."""
Shape: TypeAlias = "int | tuple[int, ...]"


@dataclass(frozen=True)
class BufferOffset:
    """A pointer into a buffer: ``elements`` after its begin; of the workspace, bytes."""

    role: str
    elements: int


Argument: TypeAlias = "str | int | float | bytes | BufferOffset | None"
"""A kernel's argument: a role stands for the pointer to its buffer, None for a null pointer, bytes for a struct."""


@dataclass(frozen=True)
class KernelLaunch:
    """One launch: a kernel that ``DeviceSource.kernels`` lists, ``grid`` in blocks, ``block`` in threads, arguments in
    order. Numbers become the kernel's parameter types, which must hold them. ``lds`` is dynamic, in bytes."""

    kernel: str
    grid: Shape
    block: Shape
    args: tuple[Argument, ...] = ()
    lds: int = 0
    where: str = field(init=False, repr=False, compare=False)
    """The file and line that stated it."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "where", _place())


@dataclass(frozen=True)
class ClearBuffer:
    """A fill of a buffer with zeros, for kernels that add to it: the workspace, or an output without padding."""

    role: str
    where: str = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "where", _place())


Step: TypeAlias = "KernelLaunch | ClearBuffer"
Launches: TypeAlias = Callable[[Any, Instance, Mapping[str, str]], Iterable[Step]]
WorkspaceBytes: TypeAlias = Callable[[Any, Instance, Mapping[str, str]], int]


def _no_workspace(problem: Any, instance: Instance, options: Mapping[str, str]) -> int:
    return 0


@dataclass(frozen=True)
class DeviceSource:
    """The ``__global__`` functions of a family's sources, and what is launched for a problem.

    ``kernels`` are C++ names, templates with their arguments: ``saxpy``, ``mine::gemm<float, 16>``; where sources are
    compiled device code (code objects, cubins, fat binaries, PTX) they are symbols. ``launches`` and
    ``workspace`` get the problem, the instance and the value of every option. Both are asked once for each problem.
    """

    kernels: tuple[str, ...]
    launches: Launches
    workspace: WorkspaceBytes = _no_workspace

    def begin(self) -> None:
        """Prepare for ``plan``, before any case is timed."""

    def plan(self, problem: Any, instance: Instance, options: Mapping[str, str]) -> Mapping[str, Any]:
        """Return what is launched for a problem as JSON. Raises what the two functions raise, or TypeError."""
        arguments = problem, instance, options
        return plan_as_json(self.workspace(*arguments), self.launches(*arguments))


def is_module(sources: Iterable[str]) -> bool:
    """Return whether a family's sources are compiled device code."""
    return any(source.endswith(tuple(MODULES)) for source in sources)


def _place() -> str:
    """Return the file and line of the caller of a dataclass's constructor."""
    frame = sys._getframe(3)
    return f"{Path(frame.f_code.co_filename).name}:{frame.f_lineno}"


def plan_as_json(workspace: object, found: object) -> dict[str, Any]:
    """Return what a user's two functions returned as JSON. TypeError or ValueError, with its line, for the rest."""
    if not isinstance(workspace, int) or isinstance(workspace, bool) or not 0 <= workspace < 1 << 63:
        raise TypeError(f"workspace returned {shown(repr(workspace))}: return a number of bytes")
    if not isinstance(found, Iterable):
        raise TypeError(f"launches returned {shown(repr(found))}: return a list of KernelLaunch, or yield them")
    steps: list[dict[str, Any]] = []
    for step in found:
        if len(steps) == MOST_STEPS:
            raise ValueError(f"launches states more than {MOST_STEPS} launches for one problem")
        steps.append(_step_as_json(step))
    return {"workspace": workspace, "steps": steps}


def _step_as_json(step: object) -> dict[str, Any]:
    if isinstance(step, ClearBuffer):
        return {"clear": _of_type(str, step.role, f"{step.where}: ClearBuffer: role"), "where": step.where}
    if not isinstance(step, KernelLaunch):
        raise TypeError(f"launches states {shown(repr(step))}: state a KernelLaunch or a ClearBuffer")
    what = f"{step.where}: KernelLaunch"
    if not isinstance(step.args, (tuple, list)):
        raise TypeError(f"{what}: args is {shown(repr(step.args))}: give a tuple")
    return {
        "kernel": _of_type(str, step.kernel, f"{what}: kernel"),
        "grid": _shape(step.grid, f"{what}: grid"),
        "block": _shape(step.block, f"{what}: block"),
        "args": [_argument(one, f"{what}: argument {number}") for number, one in enumerate(step.args, 1)],
        "lds": _of_type(int, step.lds, f"{what}: lds"),
        "where": step.where,
    }


def _shape(stated: object, what: str) -> list[int]:
    sizes = list(stated) if isinstance(stated, (tuple, list)) else [stated]
    if not 1 <= len(sizes) <= 3 or not all(_is_integer(size) for size in sizes):
        raise TypeError(f"{what} is {shown(repr(stated))}: give one to three integers")
    return [operator.index(size) for size in sizes if _is_integer(size)] + [1] * (3 - len(sizes))


def _argument(stated: object, what: str) -> dict[str, Any]:
    if stated is None:
        return {"null": True}
    if isinstance(stated, str):
        return {"role": stated, "elements": 0}
    if isinstance(stated, BufferOffset):
        elements = _of_type(int, stated.elements, f"{what}: elements")
        return {"role": _of_type(str, stated.role, f"{what}: role"), "elements": elements}
    if isinstance(stated, bytes):
        return {"bytes": stated.hex()}
    if isinstance(stated, SupportsIndex):
        return {"integer": str(operator.index(stated))}
    if isinstance(stated, SupportsFloat):
        return {"real": float(stated).hex()}
    raise TypeError(f"{what} is {shown(repr(stated))}: give a role, a number, bytes, BufferOffset or None")


def _is_integer(value: object) -> TypeGuard[SupportsIndex]:
    return isinstance(value, SupportsIndex) and not isinstance(value, bool)


def _of_type(kind: type, value: object, what: str) -> Any:
    if kind is int and _is_integer(value):
        return operator.index(value)
    if not isinstance(value, kind) or isinstance(value, bool):
        raise TypeError(f"{what} is {shown(repr(value))}: give {'a text' if kind is str else 'an integer'}")
    return value
