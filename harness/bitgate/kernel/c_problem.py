"""Problems that cross the C ABI, whatever they compute, and the C structures in which libraries get them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from enum import IntFlag
from typing import TYPE_CHECKING, Any, Protocol

from bitgate.kernel.abi import Value

if TYPE_CHECKING:
    from bitgate.model import Tensor
from collections.abc import Callable, Iterable
from ctypes import addressof, byref, c_int64, create_string_buffer, memmove, sizeof
from dataclasses import dataclass
from functools import lru_cache
from struct import Struct, pack

from bitgate.kernel.abi import MAX_RANK, VALUE, CProblem, CTensor, ValueKind
from bitgate.model import Tensor


class Access(IntFlag):
    """The values of ``enum bitgate_access``."""

    READ = 1
    WRITTEN = 2


class AbiProblem(Protocol):
    """A problem as kernels get it: frozen, and ``str(operation)`` is the operation's name."""

    def __hash__(self) -> int: ...

    @property
    def operation(self) -> Any: ...

    @property
    def tensors(self) -> Mapping[str, Tensor | None]:
        """The tensors by role, in the order in which a kernel gets them; None for an absent optional one."""

    @property
    def outputs(self) -> tuple[str, ...]:
        """The roles of the tensors that are written."""

    @property
    def attributes(self) -> Mapping[str, Value]:
        """The attributes by name; those at their default may be left out."""

    @property
    def parts(self) -> int:
        """The most parts that a kernel may list, and launch one by one."""


def accesses(problem: AbiProblem) -> Iterator[tuple[str, Tensor | None, Access]]:
    """Yield role, tensor if present, and what a kernel may do with it, in the ABI's order."""
    for role, tensor in problem.tensors.items():
        yield role, tensor, Access.WRITTEN if role in problem.outputs else Access.READ


DEFAULT_ALIGNMENT = 16
"""Bytes promised for base pointers unless a case says otherwise: the widest vector access."""


_PROBLEM = Struct("@IiQIIQQ")
_TENSOR = Struct(f"@Qiiii{MAX_RANK}q{MAX_RANK}qQ")
"""``CProblem`` and ``CTensor`` field by field; ctypes takes several times as long to set them one by one."""
assert (_PROBLEM.size, _TENSOR.size) == (sizeof(CProblem), sizeof(CTensor))
_INTEGER = sizeof(c_int64)
_NO_LENGTHS = (0,) * MAX_RANK


class CProblemMemory:
    """The memory of a problem's C structures. ``alignment`` is the bytes promised for every base pointer.

    Libraries get it as const, and are not trusted with it: Python uses nothing else in this memory.
    """

    def __init__(self, problem: AbiProblem, alignment: int) -> None:
        tensors, attributes = list(accesses(problem)), list(problem.attributes.items())
        self.roles = tuple(role for role, *_ in tensors)
        texts = _texts(_all_texts(problem))
        integers = [number for _, value in attributes if isinstance(value, tuple) for number in value]
        size = _PROBLEM.size + len(tensors) * _TENSOR.size + len(attributes) * VALUE.size + len(integers) * _INTEGER
        self._memory = create_string_buffer(size + len(texts.data))
        first_tensor = addressof(self._memory) + _PROBLEM.size
        first_attribute = first_tensor + len(tensors) * _TENSOR.size
        first_integer = first_attribute + len(attributes) * VALUE.size
        first_text = first_integer + len(integers) * _INTEGER

        def text(content: str) -> int:
            return first_text + texts.place[content]

        parts = [
            _PROBLEM.pack(
                *(_PROBLEM.size, alignment, text(str(problem.operation)), len(tensors), len(attributes)),
                *(first_tensor, first_attribute),
            )
        ]
        parts += (_tensor(text(role), access, tensor, text(_layout(tensor))) for role, tensor, access in tensors)
        for name, value in attributes:
            parts.append(_value(text(name), value, text, first_integer))
            first_integer += len(value) * _INTEGER if isinstance(value, tuple) else 0
        parts += (pack(f"={len(integers)}q", *integers), texts.data)
        self._original = b"".join(parts)
        memmove(self._memory, self._original, len(self._original))
        self.structure = CProblem.from_buffer(self._memory)

    @property
    def reference(self) -> Any:
        """The argument that a call takes."""
        return byref(self.structure)

    def restore(self) -> bool:
        """Undo what a call has written, and return whether there was anything."""
        if self._memory.raw == self._original:
            return False
        memmove(self._memory, self._original, len(self._original))
        return True


def _tensor(role: int, access: int, tensor: Tensor | None, layout: int) -> bytes:
    if tensor is None:
        return _TENSOR.pack(role, access, 0, 0, 0, *_NO_LENGTHS, *_NO_LENGTHS, layout)
    rank, rest = len(tensor.lengths), _NO_LENGTHS[len(tensor.lengths) :]
    return _TENSOR.pack(
        role, access, tensor.dtype.code, rank, 0, *tensor.lengths, *rest, *tensor.strides, *rest, layout
    )


def _value(name: int, value: Value, text: Callable[[str], int], integers: int) -> bytes:
    """Pack an attribute; ``integers`` is the address of those of a list."""
    if isinstance(value, tuple):
        return VALUE.pack(name, ValueKind.INTEGERS, len(value), 0, 0.0, 0, integers)
    if isinstance(value, str):
        return VALUE.pack(name, ValueKind.TEXT, 0, 0, 0.0, text(value), 0)
    if isinstance(value, float):
        return VALUE.pack(name, ValueKind.REAL, 0, 0, value, 0, 0)
    return VALUE.pack(name, ValueKind.INTEGER, 0, value, 0.0, 0, 0)


@dataclass(frozen=True)
class _Texts:
    """C strings in a row, and where each begins."""

    data: bytes
    place: Mapping[str, int]


def _texts(contents: Iterable[str]) -> _Texts:
    place: dict[str, int] = {}
    data = b""
    for content in dict.fromkeys(contents):
        place[content] = len(data)
        data += content.encode() + b"\0"
    return _Texts(data, place)


def _layout(tensor: Tensor | None) -> str:
    return "" if tensor is None else tensor.layout


def _all_texts(problem: AbiProblem) -> Iterator[str]:
    yield str(problem.operation)
    for role, tensor, _ in accesses(problem):
        yield from (role, _layout(tensor))
    for name, value in problem.attributes.items():
        yield name
        if isinstance(value, str):
            yield value


@lru_cache(maxsize=1024)
def lent_problem(problem: AbiProblem, alignment: int = DEFAULT_ALIGNMENT) -> CProblemMemory:
    """Return the memory of a problem, the same for every call with an equal problem."""
    return CProblemMemory(problem, alignment)
