"""What goes between a fuzzing run and its workers: pickled, and a kernel by its names, since each side has the
declarations itself."""

from __future__ import annotations

import pickle
import struct
from collections.abc import Iterator, Mapping
from io import BytesIO
from typing import IO, Any

from bitgate.kernel.declaration import KernelFamily
from bitgate.kernel.resolved import Kernel, kernel_called

LENGTH = struct.Struct("<Q")
"""Stands before each answer: how many bytes it has."""


class _Pickler(pickle.Pickler):
    def persistent_id(self, thing: Any) -> Any:
        return thing.names if isinstance(thing, Kernel) else None


class _Unpickler(pickle.Unpickler):
    def __init__(self, stream: IO[bytes], families: Mapping[str, KernelFamily]) -> None:
        super().__init__(stream)
        self._families = families

    def persistent_load(self, names: Any) -> Kernel:
        return kernel_called(self._families, *names)


def write(thing: object, stream: IO[bytes]) -> None:
    _Pickler(stream).dump(thing)
    stream.flush()


def read(stream: IO[bytes], families: Mapping[str, KernelFamily]) -> Any:
    """The next thing. EOFError behind the last one."""
    return _Unpickler(stream, families).load()


def answer(thing: object, stream: IO[bytes]) -> None:
    """As ``write``, with its length ahead, so that whoever reads can tell whether all of it has arrived."""
    data = BytesIO()
    _Pickler(data).dump(thing)
    stream.write(LENGTH.pack(data.tell()) + data.getvalue())
    stream.flush()


def complete(inbox: bytearray, families: Mapping[str, KernelFamily]) -> Iterator[Any]:
    """The answers that have arrived as a whole; they leave the inbox."""
    while len(inbox) >= LENGTH.size:
        end = LENGTH.size + LENGTH.unpack_from(inbox)[0]
        if len(inbox) < end:
            return
        yield read(BytesIO(inbox[LENGTH.size : end]), families)
        del inbox[:end]
