"""Launches as the integers that a generated library reads (``bitgate/source.hpp``), checked against its kernels."""

from __future__ import annotations

import struct
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from math import prod
from typing import Any

from bitgate.core.errors import near
from bitgate.kernel.abi import MAX_ARGS, Value
from bitgate.kernel.c_problem import AbiProblem
from bitgate.kernel.errors import KernelFailed
from bitgate.kernel.source import WORKSPACE
from bitgate.model import Tensor

ATTRIBUTE = "bitgate.launches"
MOST_THREADS = 1024
MOST_BLOCKS = (2**31 - 1, 65535, 65535)
NULL, SCRATCH, FILL = -2, -1, -1
_NAMES = {"f4": "float", "f8": "double", "b1": "bool", "i1": "signed char", "u1": "unsigned char", "i2": "short"}
_NAMES |= {"u2": "unsigned short", "i4": "int", "u4": "unsigned", "i8": "long", "u8": "unsigned long", "v0": "void"}
_REALS = {"f4": "<f", "f8": "<d"}


class LaunchMistake(KernelFailed):
    """A launch that a user's function stated wrongly: the text has its file and line."""

    def __init__(self, text: str) -> None:
        super().__init__(None, text)

    def __str__(self) -> str:
        return self.reason


@dataclass(frozen=True)
class Parameter:
    """A parameter of a kernel: ``code`` is its type, or that of its target (``f4``: float; ``x4``: any of 4 bytes;
    ``n4``: any that is no pointer)."""

    code: str
    is_pointer: bool
    is_const: bool

    @property
    def size(self) -> int:
        return 8 if self.is_pointer else int(self.code[1:])

    @property
    def name(self) -> str:
        """The type in C++, as far as it is known."""
        if self.is_unknown:
            return f"a value of {self.code[1:]} bytes{', or a pointer' if self.may_be_pointer else ''}"
        plain = _NAMES.get(self.code, f"a struct of {self.code[1:]} bytes")
        return f"{'const ' if self.is_const else ''}{plain}{'*' if self.is_pointer else ''}"

    @property
    def is_unknown(self) -> bool:
        """True where a module has the size alone, or that it is no pointer."""
        return self.code[0] in "xn"

    @property
    def may_be_pointer(self) -> bool:
        return self.is_pointer or self.code == "x8"


@dataclass(frozen=True)
class SourceKernel:
    """A kernel of a library: its place in the list, and its parameters."""

    place: int
    parameters: tuple[Parameter, ...]

    @property
    def described(self) -> str:
        return f"({', '.join(one.name for one in self.parameters)})"


@dataclass(frozen=True)
class StatedProblem:
    """A problem with its launches, as it crosses the C ABI."""

    problem: AbiProblem
    launches: tuple[int, ...]

    @property
    def operation(self) -> Any:
        return self.problem.operation

    @property
    def tensors(self) -> Mapping[str, Tensor | None]:
        return self.problem.tensors

    @property
    def outputs(self) -> tuple[str, ...]:
        return self.problem.outputs

    @property
    def attributes(self) -> Mapping[str, Value]:
        return {ATTRIBUTE: self.launches}

    @property
    def parts(self) -> int:
        """The most parts of the problem, and at least the number of launches: the record has room for each."""
        return max(self.problem.parts, self.launches[1])


def kernels_of(listed: str) -> dict[str, SourceKernel]:
    """Return a library's kernels from its list: a line each, name, tab, parameters."""
    found = {}
    for place, line in enumerate(listed.splitlines()):
        name, _, parameters = line.partition("\t")
        found[name] = SourceKernel(place, tuple(_parameter(text) for text in parameters.split(",") if text))
    return found


def _parameter(text: str) -> Parameter:
    *pointer, code = text.partition("@")[0].split(":")
    # A pointer to a pointer is a pointer: what it points to is device memory.
    return Parameter(code if len(pointer) < 2 else "v0", bool(pointer), pointer[:1] == ["c"])


def launch_list(
    plan: Mapping[str, Any], kernels: Mapping[str, SourceKernel], problem: AbiProblem, lds_limit: int
) -> tuple[int, ...]:
    """Return a plan's integers. LaunchMistake, with file and line, for what the kernels or the problem do not allow."""
    writer = _Writer(kernels, problem, int(plan["workspace"]), lds_limit)
    integers = [writer.workspace, len(plan["steps"])]
    for step in plan["steps"]:
        try:
            integers += writer.clear(step["clear"]) if "clear" in step else writer.launch(step)
        except (ValueError, OverflowError) as error:
            raise LaunchMistake(f"{step['where']}: {error}") from None
    return tuple(integers)


class _Writer:
    """The writer of one problem's list; its methods raise ValueError."""

    def __init__(
        self, kernels: Mapping[str, SourceKernel], problem: AbiProblem, workspace: int, lds_limit: int
    ) -> None:
        self.kernels, self.problem, self.workspace, self.lds_limit = kernels, problem, workspace, lds_limit
        self.places = {role: place for place, role in enumerate(problem.tensors)}

    def launch(self, step: Mapping[str, Any]) -> Iterator[int]:
        name, grid, block, lds = step["kernel"], step["grid"], step["block"], step["lds"]
        if name not in self.kernels:
            raise ValueError(f"DeviceSource.kernels lists no '{name}': {near(name, self.kernels)}")
        if not all(1 <= size <= most for size, most in zip(grid, MOST_BLOCKS, strict=True)):
            hint = ": where there is nothing to do, state no launch" if 0 in grid else ""
            raise ValueError(f"{name}: grid is {grid}: give 1 to {MOST_BLOCKS} blocks{hint}")
        if not all(size >= 1 for size in block) or prod(block) > MOST_THREADS:
            raise ValueError(f"{name}: block is {block}: give 1 to {MOST_THREADS} threads in all")
        if not 0 <= lds <= self.lds_limit:
            raise ValueError(f"{name}: lds is {lds} bytes: a block has at most {self.lds_limit}")
        kernel, given = self.kernels[name], step["args"]
        if len(kernel.parameters) > MAX_ARGS:
            raise ValueError(f"{name} has {len(kernel.parameters)} parameters: at most {MAX_ARGS} are recorded")
        if len(given) != len(kernel.parameters):
            raise ValueError(
                f"{name} takes {len(kernel.parameters)} arguments {kernel.described}, {len(given)} are given"
            )
        yield from (kernel.place, *grid, *block, lds, len(given))
        for number, (parameter, argument) in enumerate(zip(kernel.parameters, given, strict=True), 1):
            yield from self._argument(parameter, argument, f"{name}: argument {number}")

    def clear(self, role: str) -> Iterator[int]:
        if role == WORKSPACE:
            if not self.workspace:
                raise ValueError("ClearBuffer: there is no workspace: state its bytes in DeviceSource.workspace")
            yield from (FILL, SCRATCH, self.workspace)
            return
        tensor = self._tensor(role, "ClearBuffer")
        if tensor is None or role not in self.problem.outputs:
            raise ValueError(f"ClearBuffer: '{role}' is no output of the problem ({', '.join(self.problem.outputs)})")
        if tensor.space != tensor.elements:
            raise ValueError(f"ClearBuffer: '{role}' has padding, which stays as it is: clear it in a kernel")
        yield from (FILL, self.places[role], tensor.bytes)

    def _argument(self, parameter: Parameter, stated: Mapping[str, Any], what: str) -> Iterator[int]:
        if parameter.is_pointer or (parameter.may_be_pointer and ("role" in stated or "null" in stated)):
            yield from self._pointer(parameter, stated, what)
            return
        if "role" in stated or "null" in stated:
            given = f"the buffer '{stated['role']}'" if "role" in stated else "a null pointer"
            raise ValueError(f"{what} is {parameter.name}, {given} is a pointer")
        data = _value(parameter, stated, what)
        padded = data + bytes(-len(data) % 8)
        yield from (0, len(data), *struct.unpack(f"<{len(padded) // 8}q", padded))

    def _pointer(self, parameter: Parameter, stated: Mapping[str, Any], what: str) -> Iterator[int]:
        if "null" in stated:
            yield from (1, NULL, 0)
            return
        if "role" not in stated:
            raise ValueError(f"{what} is {parameter.name}, a number is given: name a role ({self._roles})")
        role, elements = stated["role"], stated["elements"]
        if role == WORKSPACE and role not in self.places:
            if not 0 <= elements < max(self.workspace, 1):
                raise ValueError(f"{what}: offset {elements} is outside of the workspace of {self.workspace} bytes")
            yield from (1, SCRATCH if self.workspace else NULL, elements)
            return
        tensor = self._tensor(role, what)
        if tensor is None:
            yield from (1, NULL, 0)
            return
        if not 0 <= elements <= tensor.space:
            raise ValueError(f"{what}: offset {elements} is outside of '{role}', which has {tensor.space} elements")
        if (size := int(parameter.code[1:])) > 1 and parameter.code[0] not in "sx" and size != tensor.dtype.bytes:
            raise ValueError(
                f"{what} is {parameter.name}, whose elements have {size} bytes:"
                f" '{role}' is of {tensor.dtype.name}, of {tensor.dtype.bytes}"
            )
        yield from (1, self.places[role], elements * tensor.dtype.bytes)

    def _tensor(self, role: str, what: str) -> Tensor | None:
        if role not in self.places:
            raise ValueError(f"{what}: the problem has no '{role}': its roles are {self._roles}")
        return self.problem.tensors[role]

    @property
    def _roles(self) -> str:
        return ", ".join([*self.places, WORKSPACE])


def _value(parameter: Parameter, stated: Mapping[str, Any], what: str) -> bytes:
    """Return the bytes of a parameter that is passed by value."""
    code, size = parameter.code, parameter.size
    if parameter.is_unknown and "bytes" not in stated:  # the number's own type decides
        code = f"{'f' if 'real' in stated else 'i' if int(stated['integer']) < 0 else 'u'}{size}"
    kind = code[0]
    if "bytes" in stated:
        data = bytes.fromhex(stated["bytes"])
        if len(data) != size:
            raise ValueError(f"{what} is {parameter.name}, of {size} bytes: {len(data)} are given")
        return data
    if kind == "s":
        raise ValueError(f"{what} is {parameter.name}: give its bytes, such as struct.pack('<if', n, scale)")
    if kind == "f":
        if code not in _REALS:
            raise ValueError(f"{what} is a float of {size} bytes: give its bytes")
        number = float.fromhex(stated["real"]) if "real" in stated else float(int(stated["integer"]))
        return struct.pack(_REALS[code], number)
    if "real" in stated:
        raise ValueError(f"{what} is {parameter.name}, {float.fromhex(stated['real']):g} is no integer: round it")
    whole = int(stated["integer"])
    bits = 1 if kind == "b" else 8 * size - (kind == "i")
    least = -(1 << bits) if kind == "i" else 0
    if not least <= whole < 1 << bits:
        raise ValueError(f"{what} is {parameter.name}, which does not hold {whole}")
    return whole.to_bytes(size, "little", signed=whole < 0)
