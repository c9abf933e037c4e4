"""A problem as the C structures that libraries are lent."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from ctypes import POINTER, addressof, byref, c_char_p, c_int64, cast, create_string_buffer, memmove, sizeof
from functools import lru_cache
from typing import Any

from bitgate.kernel.abi import CProblem, CTensor, CValue, Value, ValueKind, sized
from bitgate.kernel.problem import AbiProblem, accesses
from bitgate.operation import Tensor

DEFAULT_ALIGNMENT = 16
"""Bytes promised for base pointers unless a case says otherwise: the widest vector access."""


class LentProblem:
    """``alignment``: bytes promised for every base pointer. Libraries get it all as const, and are not trusted with it:
    nothing that Python uses otherwise lies in this memory."""

    def __init__(self, problem: AbiProblem, alignment: int) -> None:
        tensors, attributes = list(accesses(problem)), list(problem.attributes.items())
        self.roles = tuple(role for role, *_ in tensors)
        self._texts = _Texts(_words(problem))
        self._integers = (c_int64 * sum(len(v) for _, v in attributes if isinstance(v, tuple)))()
        self._tensors = (CTensor * len(tensors))()
        self._attributes = (CValue * len(attributes))()
        for entry, (role, tensor, access) in zip(self._tensors, tensors, strict=True):
            entry.role, entry.access, entry.layout = self._texts[role], access, self._texts[_layout(tensor)]
            if tensor is not None:
                entry.dtype, entry.rank = tensor.dtype.code, len(tensor.lengths)
                entry.lengths[: entry.rank], entry.strides[: entry.rank] = tensor.lengths, tensor.strides
        used = 0
        for value_entry, (name, value) in zip(self._attributes, attributes, strict=True):
            self._set(value_entry, name, value, used)
            used += len(value) if isinstance(value, tuple) else 0
        self.structure: CProblem = sized(CProblem)
        self.structure.alignment = alignment
        self.structure.operation = self._texts[str(problem.operation)]
        self.structure.tensor_count, self.structure.attribute_count = len(tensors), len(attributes)
        self.structure.tensors = cast(self._tensors, POINTER(CTensor))
        self.structure.attributes = cast(self._attributes, POINTER(CValue))
        self._memory = (self.structure, self._tensors, self._attributes, self._integers, self._texts.memory)
        self._original = tuple(bytes(part) for part in self._memory)

    def _set(self, entry: CValue, name: str, value: Value, used: int) -> None:
        entry.name = self._texts[name]
        if isinstance(value, tuple):
            self._integers[used : used + len(value)] = list(value)
            entry.kind, entry.count = ValueKind.INTEGERS, len(value)
            entry.integers = cast(addressof(self._integers) + used * sizeof(c_int64), POINTER(c_int64))
        elif isinstance(value, str):
            entry.kind, entry.text = ValueKind.TEXT, self._texts[value]
        elif isinstance(value, float):
            entry.kind, entry.real = ValueKind.REAL, value
        else:
            entry.kind, entry.integer = ValueKind.INTEGER, value

    @property
    def reference(self) -> Any:
        """What a call takes."""
        return byref(self.structure)

    def restore(self) -> bool:
        """Undo what a call has written. Was there anything?"""
        wrote = False
        for part, original in zip(self._memory, self._original, strict=True):
            if bytes(part) != original:
                memmove(part, original, len(original))
                wrote = True
        return wrote


class _Texts:
    """C strings in memory of their own, by what they say."""

    def __init__(self, words: Iterable[str]) -> None:
        places: dict[str, int] = {}
        data = b""
        for word in dict.fromkeys(words):
            places[word] = len(data)
            data += word.encode() + b"\0"
        self.memory = create_string_buffer(data, len(data))
        self._addresses = {word: addressof(self.memory) + place for word, place in places.items()}

    def __getitem__(self, word: str) -> c_char_p:
        return c_char_p(self._addresses[word])


def _layout(tensor: Tensor | None) -> str:
    return "" if tensor is None else tensor.layout


def _words(problem: AbiProblem) -> Iterator[str]:
    yield str(problem.operation)
    for role, tensor, _ in accesses(problem):
        yield from (role, _layout(tensor))
    for name, value in problem.attributes.items():
        yield name
        if isinstance(value, str):
            yield value


@lru_cache(maxsize=1024)
def lent_problem(problem: AbiProblem, alignment: int = DEFAULT_ALIGNMENT) -> LentProblem:
    """The same for every call with an equal problem."""
    return LentProblem(problem, alignment)
