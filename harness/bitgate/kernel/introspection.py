"""Load a library in a separate process and report its own description.

A library can crash in its constructors or in its first call. This process is where it does so: it reports each step
beforehand, so that its parent knows where the end came. Standard library only; starts in a few dozen ms.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from ctypes import CDLL, POINTER, RTLD_GLOBAL, addressof, cast, create_string_buffer, memset, sizeof
from typing import Any

from bitgate.kernel import abi
from bitgate.worker.channel import Channel
from bitgate.worker.mapped import mapped_runtimes

ENTRY = f"{__name__}:serve"
LOAD = "being loaded"
_SLACK = 4096
_PATTERN = 0xA5


def serve(channel: Channel) -> None:
    """Answer ``{path, runtime}`` with the library's facts, its steps as notes; an empty runtime is none."""
    channel.serve(lambda question: _facts(question["path"], question["runtime"], channel.note))


def _facts(path: str, runtime: str, step: Callable[[str], None]) -> dict[str, Any]:
    if runtime:
        CDLL(runtime, mode=RTLD_GLOBAL)
    step(LOAD)
    try:
        library = CDLL(path, mode=os.RTLD_NOW | os.RTLD_LOCAL)
    except OSError as error:
        return {"error": str(error)}
    if runtime and (second := [str(other) for other in mapped_runtimes() if not other.samefile(runtime)]):
        return {"second_runtime": second[0]}
    missing = [name for name in abi.EXPORTS if not hasattr(library, name)]
    if missing:
        return {"missing": missing}
    for name, (result, types) in abi.EXPORTS.items():
        function = getattr(library, name)
        function.restype, function.argtypes = result, types
    return _describe(library, step)


def _describe(library: Any, step: Callable[[str], None]) -> dict[str, Any]:
    step("bitgate_abi")
    info, overrun = _filled(abi.CAbiInfo, 1, lambda out, _: library.bitgate_abi(out))
    facts: dict[str, Any] = {
        "status": info.status,
        "version": info.items[0].version,
        "sizes": {field: getattr(info.items[0], field) for field in abi.SIZES},
        "family": info.items[0].family.decode(errors="replace"),
        "target": info.items[0].target.decode(errors="replace"),
    }
    if overrun:
        return {**facts, "overrun": "bitgate_abi"}
    if info.status != 0 or facts["version"] != abi.ABI_VERSION or facts["sizes"] != abi.SIZES:
        return facts  # its lists have another layout: do not read them
    for key, name, structure, describe in (
        ("instances", "bitgate_list_instances", abi.CInstanceInfo, _instance),
        ("options", "bitgate_list_options", abi.COptionInfo, _fields),
    ):
        step(name)
        function = getattr(library, name)
        capacity = 64
        while True:
            entries, overrun = _filled(structure, capacity, function)
            count = entries.status
            if overrun:
                return {**facts, "overrun": name}
            if count <= capacity:
                break
            capacity = count
        facts[key] = count if count < 0 else [describe(entries.items[i]) for i in range(count)]
    return facts


class _Filled:
    """Structures that a call filled, and the integer that it returned."""

    def __init__(self, items: Any, status: int) -> None:
        self.items = items
        self.status = status


def _filled(structure: Any, capacity: int, call: Any) -> tuple[_Filled, bool]:
    """Call with ``capacity`` structures and untouched bytes after them; return whether those were written."""
    size = sizeof(structure) * capacity
    memory = create_string_buffer(size + _SLACK)
    items = cast(memory, POINTER(structure))
    for i in range(capacity):
        items[i].struct_size = sizeof(structure)
    slack = bytes([_PATTERN]) * _SLACK
    memset(addressof(memory) + size, _PATTERN, _SLACK)
    status = call(items, capacity)
    return _Filled(items, status), memory.raw[size:] != slack


def _fields(entry: Any) -> dict[str, Any]:
    values = {name: getattr(entry, name) for name, *_ in entry._fields_}
    return {name: v.decode(errors="replace") if isinstance(v, bytes) else v for name, v in values.items()}


def _instance(entry: Any) -> dict[str, Any]:
    texts = {name: (getattr(entry, name) or b"").decode(errors="replace") for name in ("family", "name", "operation")}
    return {**texts, "facts": abi.values_of(entry.facts, entry.fact_count)}
