"""A program that launches kernels which report each write, and prints who wrote which cell of the result.

python -m tests.kernels.written_cells: stdin has a JSON list of [case, family, instance, options]. stdout gets for each
the launches, and the writes to each cell and to its sum in the workspace as [x, y, z, thread, adds]. The recorder's
callbacks must be found before the runtime's.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from ctypes import CDLL, RTLD_GLOBAL, byref, c_uint64, c_void_p, string_at
from pathlib import Path
from typing import Any

import numpy as np
from tests.plain_family import plain_family

from bitgate.kernel.build.builder import Builder
from bitgate.kernel.library import KernelLibrary
from bitgate.kernel.registry import families
from bitgate.model import Contraction, Problem, parse_case_id
from bitgate.model.host_tensor import HostTensor
from bitgate.runtime.device import Device
from bitgate.runtime.runtime import open_device
from bitgate.runtime.targets import named

WRITE = np.dtype([("address", "u8"), ("bytes", "u4"), ("block", "u4", 3), ("thread", "u4"), ("adds", "u4")])


def main() -> None:
    builder = Builder("host", lambda line: None)
    folder = Path(__file__).parent / "writers"
    CDLL(str(builder.runtime()))  # for itself: what is global is found in its order
    recorder = CDLL(str(builder.family(plain_family(folder, "recorder.hip.cpp"))), mode=RTLD_GLOBAL)
    device = open_device(named("host"), builder)
    libraries: dict[tuple[str, str], KernelLibrary] = {}
    for case, name, instance, options in json.load(sys.stdin):
        declared = families()[name]
        found = declared.instance(instance)
        assert found, instance
        part = declared.only(found.group)
        if (name, found.group) not in libraries:
            path = builder.family(part, race=True)
            libraries[name, found.group] = KernelLibrary.load(path, part, target="host")
        library = libraries[name, found.group]
        print(json.dumps(_launched(recorder, device, library, parse_case_id(case), instance, options)), flush=True)


def _launched(
    recorder: CDLL, device: Device, library: KernelLibrary, problem: Problem, instance: str, options: Mapping[str, str]
) -> dict[str, Any]:
    buffers = {}
    for role, tensor in problem.tensors.items():
        buffers[role] = device.alloc(tensor.bytes, name=role)
        buffers[role].upload(np.ones_like(HostTensor.empty(tensor).storage))
    pointers = {role: buffer.pointer for role, buffer in buffers.items()}
    if isinstance(problem, Contraction) and problem.op.in_place:
        pointers["d0"] = pointers[problem.result]
    needed = library.workspace_size(problem, instance, options)
    scratch = device.alloc(needed, name="workspace") if needed else None
    result = problem.tensors[problem.result]
    begin = pointers[problem.result]
    workspace = (scratch.pointer, needed) if scratch else (0, 0)
    recorder.record_writes(*map(c_uint64, (begin, begin + result.bytes, workspace[0], sum(workspace))))
    record = library.run(problem, instance, options, pointers, workspace, stream=device.stream)
    device.synchronize()
    at = c_void_p()
    recorder.recorded_writes.restype = c_uint64
    count = recorder.recorded_writes(byref(at))
    found = np.frombuffer(string_at(at.value, count * WRITE.itemsize) if at.value else b"", WRITE)
    for buffer in (*buffers.values(), *([scratch] if scratch else [])):
        buffer.free()
    offsets = np.indices(result.lengths).reshape(len(result.lengths), -1).T @ np.array(result.strides)
    cells = _by_element(found, (begin, begin + result.bytes), result.dtype.bytes)
    sums = _by_element(found, (workspace[0], sum(workspace)), max(1, needed // result.elements))
    return {
        "launches": [[event.name, event.grid, event.block] for event in record.events],
        "cells": [cells.get(int(offset), []) for offset in offsets],
        "sums": [sums.get(number, []) for number in range(result.elements if needed else 0)],
    }


def _by_element(writes: np.ndarray[Any, Any], span: tuple[int, int], size: int) -> dict[int, list[list[int]]]:
    """Return the writes to each element of some memory; a write of several elements is one of each."""
    begin, end = span
    of_element: dict[int, list[list[int]]] = {}
    for write in writes[(writes["address"] >= begin) & (writes["address"] < end)]:
        first = (int(write["address"]) - begin) // size
        row = [*map(int, write["block"]), int(write["thread"]), int(write["adds"])]
        for element in range(first, first + max(1, int(write["bytes"]) // size)):
            if row not in of_element.setdefault(element, []) or row[-1] == 0:
                of_element[element].append(row)
    return of_element


if __name__ == "__main__":
    main()
