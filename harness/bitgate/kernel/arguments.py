"""A problem, options and buffers as the C ABI takes them."""

from __future__ import annotations

from collections.abc import Mapping
from ctypes import POINTER, cast, sizeof
from difflib import get_close_matches
from functools import lru_cache

from bitgate.errors import UsageError
from bitgate.kernel.abi import MAX_D, CBuffers, COption, COptions, CProblem, CTensor, operation_code, sized
from bitgate.kernel.declaration import ANY_INTEGER, Instance, KernelFamily
from bitgate.operation import Problem, Tensor

DEFAULT_ALIGNMENT = 16
"""Bytes promised for base pointers unless a case says otherwise: the widest vector access."""


@lru_cache(maxsize=1024)
def c_problem(problem: Problem, alignment: int = DEFAULT_ALIGNMENT) -> CProblem:
    """The problem as a C structure. ``out_op`` applies to the result, whichever tensor that is.

    Shared between calls: libraries get it as const.
    """
    tensors = problem.tensors
    value: CProblem = sized(CProblem)
    value.operation = operation_code(problem.operation.name)
    value.ndim = problem.ndim
    value.num_d = problem.op.num_d
    value.d_aliases_output = int(problem.op.in_place)
    value.compute_dtype = problem.dtypes.compute_dtype.code
    value.split_k = problem.split_k
    value.alignment = alignment
    _set_tensor(value.in_, tensors["in"])
    _set_tensor(value.wei, tensors["wei"])
    _set_tensor(value.out, tensors["out"])
    for i in range(problem.op.num_d):
        _set_tensor(value.d[i], tensors[f"d{i}"])
    for place, op in ((value.in_op, problem.in_op), (value.wei_op, problem.wei_op), (value.out_op, problem.op)):
        place.kind, place.alpha, place.beta = op.code, op.alpha, op.beta
    for axis in range(problem.ndim):
        value.stride[axis] = problem.stride[axis]
        value.dilation[axis] = problem.dilation[axis]
        value.left_pad[axis] = problem.left_pad[axis]
        value.right_pad[axis] = problem.right_pad[axis]
    return value


def _set_tensor(value: CTensor, tensor: Tensor) -> None:
    value.dtype = tensor.dtype.code
    value.rank = len(tensor.lengths)
    value.lengths[: value.rank] = tensor.lengths
    value.strides[: value.rank] = tensor.strides
    value.layout = tensor.layout.encode()[:15]


@lru_cache(maxsize=256)
def c_options(items: tuple[tuple[str, str], ...]) -> COptions:
    """Named options as a C structure, which keeps what it points to alive."""
    value: COptions = sized(COptions)
    array = (COption * max(1, len(items)))()
    for entry, (name, text) in zip(array, items, strict=False):
        entry.name, entry.value = name.encode(), text.encode()
    value.count = len(items)
    value.items = cast(array, POINTER(COption))
    return value


def c_buffers(buffers: Mapping[str, int], workspace: tuple[int, int]) -> CBuffers:
    """Device pointers by tensor name (``in``, ``wei``, ``out``, ``d0``...), and the workspace's (pointer, bytes)."""
    value = CBuffers(
        struct_size=sizeof(CBuffers),
        in_=buffers["in"],
        wei=buffers["wei"],
        out=buffers["out"],
        workspace=workspace[0],
        workspace_bytes=workspace[1],
    )
    for i in range(MAX_D):
        value.d[i] = buffers.get(f"d{i}")
    return value


def find_instance(family: KernelFamily, name: str) -> Instance:
    """UsageError with the nearest name if the family has no such instance."""
    found = family.instance(name)
    if found is None:
        names = [instance.name for instance in family.instances]
        raise UsageError(f"kernel {family.name} has no instance '{name}'{nearest(name, names)}")
    return found


def check_options(family: KernelFamily, options: Mapping[str, str]) -> tuple[tuple[str, str], ...]:
    """The options in a stable order; UsageError with the nearest name for one that the family does not have."""
    for name, value in options.items():
        option = family.option(name)
        if option is None:
            names = [known.name for known in family.options]
            raise UsageError(f"kernel {family.name} has no option '{name}'{nearest(name, names)}")
        if not option.allows(value):
            allowed = "an integer" if option.values == ANY_INTEGER else " or ".join(option.values)
            raise UsageError(
                f"option {name}={value} of kernel {family.name}: the value is {allowed}{_closest(value, option.values)}"
            )
    return tuple(sorted(options.items()))


def nearest(name: str, known: list[str]) -> str:
    """The end of a message about an unknown name: what was perhaps meant, and what there is."""
    if not known:
        return ": it has none"
    return f"{_closest(name, tuple(known))}; known: {', '.join(known)}"


def _closest(name: str, known: tuple[str, ...]) -> str:
    close = get_close_matches(name, known, n=1, cutoff=0.4)
    return f"; did you mean '{close[0]}'?" if close else ""
