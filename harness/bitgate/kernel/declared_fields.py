"""The types of a declaration's fields, checked before anything uses them: a user can write any value into any field."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path, PurePath
from typing import Annotated, Any

from msgspec import Meta, Struct, ValidationError, convert

from bitgate.kernel.declaration import KernelFamily
from bitgate.kernel.source import DeviceSource
from bitgate.model import Accumulation, Dtype

Word = Annotated[str, Meta(min_length=1, max_length=1024)]
Text = Annotated[str, Meta(max_length=1 << 16)]
Size = Annotated[int, Meta(ge=0, le=(1 << 31) - 1)]
Triple = tuple[Size, Size, Size]


class _Option(Struct):
    name: Word
    values: tuple[Word, ...]
    production: Text
    help: Text


class _Accumulation(Struct):
    measured_range: Annotated[int, Meta(ge=0, le=(1 << 63) - 1)] | None
    flushes_subnormals: bool


class _Instance(Struct):
    name: Word
    group: Text
    dtypes: tuple[Word, ...]
    layouts: tuple[Text, ...]
    ndims: tuple[Size, ...]
    accumulation: Any
    tile: Triple | None
    vector: Triple | None
    block_size: Size
    wave_size: Size
    fragment: Triple | None
    operations: tuple[Any, ...] | None
    rounds_slices: bool
    d_forms: tuple[Word, ...]
    traits: dict[str, Any]
    tiles: dict[str, Size]


class _Family(Struct):
    name: Word
    operations: tuple[Any, ...]
    platforms: tuple[Word, ...]
    instances: tuple[_Instance, ...]
    folder: Any
    sources: tuple[Word, ...]
    options: tuple[_Option, ...]
    is_reference: bool
    is_probe: bool
    library: Any
    generated: dict[Word, str]
    changes: tuple[Word, ...]
    include_dirs: tuple[Word, ...]
    flags: tuple[Word, ...] | dict[Word, tuple[Word, ...]]
    defines: dict[Word, str | int]
    libraries: tuple[Word, ...]


class _DeviceSource(Struct):
    kernels: tuple[Word, ...]


def check_fields(family: KernelFamily) -> None:
    """Raise TypeError or ValueError with the first field that has another type than KernelFamily says."""
    if not isinstance(family.folder, Path):
        raise TypeError(f"folder is {family.folder!r:.200}: give a Path")
    if family.library is not None and not isinstance(family.library, Path):
        raise TypeError(f"library is {family.library!r:.200}: give a Path")
    for name in ("supports", "dispatch", "thread_map", "opens"):
        if not callable(found := getattr(family, name)) and not (name == "opens" and found is None):
            raise TypeError(f"{name} is {found!r:.200}: give a function")
    try:
        convert(family, _Family, from_attributes=True)
    except ValidationError as error:
        raise TypeError(str(error).replace("`", "'")) from None
    for source in family.sources:
        path = PurePath(source)
        if path.is_absolute() or path.name in ("", "..") or "\0" in source:
            raise ValueError(f"sources names '{source:.200}': give a file of {family.folder}, relative to it")
    if family.source is not None:
        _check_source(family.source)
    for instance in family.instances:
        _check_accumulation(instance.name, instance.accumulation)


def _check_source(source: Any) -> None:
    if not isinstance(source, DeviceSource):
        raise TypeError(f"source is {source!r:.200}: give a DeviceSource")
    for name in ("launches", "workspace"):
        if not callable(found := getattr(source, name)):
            raise TypeError(f"source: {name} is {found!r:.200}: give a function")
    try:
        convert(source, _DeviceSource, from_attributes=True)
    except ValidationError as error:
        raise TypeError(f"source: {str(error).replace('`', chr(39))}") from None


def _check_accumulation(instance: str, stated: Any) -> None:
    contracts = stated.values() if isinstance(stated, Mapping) else (stated,)
    for contract in contracts:
        whole = isinstance(contract, Accumulation) and isinstance(contract.accumulator, Dtype)
        if not whole or not isinstance(contract.partial, (Dtype, type(None))):
            raise TypeError(f"instance '{instance}': accumulation is {contract!r:.200}: give an Accumulation of Dtypes")
        try:
            convert(contract, _Accumulation, from_attributes=True)
        except ValidationError as error:
            raise TypeError(f"instance '{instance}': accumulation: {str(error).replace('`', chr(39))}") from None
