"""What libraries launch for cases, as JSON: run in a separate process, since a process has one platform.

    record_launches.py PLATFORM TARGET < plan.json

The plan has ``cases``, a list of {case, kernel, instance, options}, and ``libraries``, family to path. On ``amd`` the
runtime is the stand-in, whose record of each launch (what reached hipLaunchKernel) is printed next to the library's.
"""

from __future__ import annotations

import json
import sys
from ctypes import CDLL, POINTER, byref, c_char_p, c_int, c_uint8, c_uint32, c_uint64
from pathlib import Path
from typing import Any

import numpy as np

from bitgate.kernel.abi import EventKind
from bitgate.kernel.build.code_object import bundled, parse
from bitgate.kernel.declaration import wave_sizes
from bitgate.kernel.library import KernelLibrary
from bitgate.kernel.registry import families
from bitgate.model import DTYPES, parse_case_id
from bitgate.runtime.device import Device
from bitgate.runtime.probe.workbench import ProbeRequest, Workbench
from bitgate.runtime.runtime import open_device
from bitgate.runtime.targets import Target
from bitgate.tools.capsule.library_symbols import LibrarySymbols
from bitgate.tools.capsule.recording import argument_places, dispatched, placed, waves_of
from bitgate.verify.guarded import Buffers
from bitgate.verify.running import WORKSPACE
from bitgate.worker.mapped import mapped_runtimes


class Recorder:
    """The stand-in's own API; on the host there is none."""

    def __init__(self, runtime: Path) -> None:
        self._api = CDLL(str(runtime))
        self._api.standInLaunch.restype = c_char_p

    def knows(self, library: Path, target: str) -> None:
        """The places of each kernel's arguments, as its code object states them."""
        for data in bundled(library.read_bytes(), target):
            for kernel in parse(data, library.name).kernels:
                words = [word for argument in kernel.explicit for word in (argument.offset, argument.size)]
                self._api.standInKernel(kernel.symbol.encode(), (c_uint32 * len(words))(*words), len(words) // 2)

    def taken(self) -> list[dict[str, Any]]:
        launches = []
        for number in range(self._api.standInLaunches()):
            sizes, lds, kernarg = (c_uint32 * 6)(), c_uint64(), POINTER(c_uint8)()
            count, configured = c_uint64(), c_int()
            name = self._api.standInLaunch(
                number, sizes, byref(lds), byref(kernarg), byref(count), byref(configured)
            ).decode()
            launches.append(
                {
                    "symbol": name,
                    "grid": list(sizes[:3]),
                    "block": list(sizes[3:]),
                    "lds": lds.value,
                    "kernarg": bytes(kernarg[: count.value]),
                }
            )
        self._api.standInForget()
        return launches


def main() -> None:
    platform, name = sys.argv[1:]
    plan = json.load(sys.stdin)
    device = open_device(Target(name if platform == "amd" else "host", platform, "hardware", "stand-in"))
    recorder = Recorder(mapped_runtimes()[0]) if platform == "amd" else None
    libraries: dict[str, KernelLibrary] = {}
    told: dict[str, Any] = {"compute_units": device.attributes.compute_units, "launches": []}
    for wanted in plan["cases"]:
        family = families()[wanted["kernel"]].on(name if recorder else "host")
        if family.name not in libraries:
            path = Path(plan["libraries"][family.name])
            libraries[family.name] = KernelLibrary.load(path, family, target=name if recorder else None)
            if recorder is not None:
                recorder.knows(path, name)
        told["launches"].append(launches(device, libraries[family.name], wanted, name, recorder))
    if "probes" in plan:
        family = families()["platform_probe"].on(name if recorder else "host")
        path = Path(plan["libraries"][family.name])
        library = KernelLibrary.load(path, family, target=name if recorder else None)
        if recorder is not None:
            recorder.knows(path, name)
        told["probes"], told["launches"] = probes(device, library, plan["probes"], recorder)
    json.dump(told, sys.stdout)


def launches(
    device: Device, library: KernelLibrary, wanted: dict[str, Any], target: str, recorder: Recorder | None
) -> list[dict[str, Any]]:
    problem, options = parse_case_id(wanted["case"]), wanted["options"]
    workspace = library.workspace_size(problem, wanted["instance"], options)
    with Buffers(device, "right") as memory:
        for role in problem.tensors:
            if role not in problem.in_place:
                memory.add(role, problem.tensors[role].bytes)
        if workspace:
            memory.add(WORKSPACE, workspace)
        if recorder is None:
            with waves_of(device, wave_sizes(target)[0]):
                record = dispatched(device, library, problem, wanted["instance"], options, memory.named, workspace)
        else:
            record = dispatched(device, library, problem, wanted["instance"], options, memory.named, workspace)
        return told_of(record.events, LibrarySymbols(library.path), memory, recorder)


def probes(
    device: Device, library: KernelLibrary, wanted: list[list[Any]] | None, recorder: Recorder | None
) -> tuple[list[list[Any]], list[list[dict[str, Any]]]]:
    """The launch of each fragment that the library has, or of those that are wanted, with their identities."""
    listed = Workbench(device, library).fragments()
    known = {tuple(map(str, (one.a, one.b, one.sum, one.m, one.n, one.k, one.wave))): one for one in listed}
    names = [tuple(one) for one in wanted] if wanted is not None else sorted(known)
    found = []
    for name in names:
        one = known[name]
        sizes = {"a": (one.m * one.k, one.a), "b": (one.k * one.n, one.b), "repeats": (1, DTYPES["i32"])}
        arrays = {role: np.zeros(count, dtype.numpy) for role, (count, dtype) in sizes.items()}
        arrays["figures"] = np.zeros(one.m * one.n, one.sum.numpy)
        with Buffers(device, "right") as memory:
            pointers = {role: memory.add(role, array.nbytes).pointer for role, array in arrays.items()}
            for role, array in arrays.items():
                memory.named[role].upload(array)
            request = ProbeRequest.of(arrays, {"fragment": one.index, "blocks": 1, "steps": 1})
            record = library.run(request, "lanes", {}, pointers, stream=device.stream)
            device.synchronize()
            found.append(told_of(record.events, LibrarySymbols(library.path), memory, recorder))
    return [list(name) for name in names], found


def told_of(events: Any, symbols: LibrarySymbols, memory: Buffers, recorder: Recorder | None) -> list[dict[str, Any]]:
    taken = iter(recorder.taken()) if recorder else iter(())
    found = []
    for event in events:
        told: dict[str, Any] = {"kind": event.kind.name, "name": event.name}
        if event.kind is EventKind.KERNEL:
            data, places = argument_places(event, memory.named)
            told |= {
                "grid": list(event.grid),
                "block": list(event.block),
                "lds": event.lds_bytes,
                "kernarg": data.hex(),
                "pointers": {str(at): place and [place.buffer, place.offset] for at, place in places.items()},
            }
            if recorder is None:
                told["symbols"] = list(symbols.names(event.function))
            else:
                reached = next(taken)
                told["symbols"] = [reached["symbol"]]
                told["reached"] = {key: reached[key] for key in ("grid", "block", "lds")}
                told["same_bytes"] = _same(event, reached["kernarg"])
        else:
            told["bytes"] = event.bytes
            to = placed(memory.named, event.address, event.name)
            told["to"] = [to.buffer, to.offset]
        found.append(told)
    extra = list(taken)
    assert not extra, f"{len(extra)} launches reached the runtime and are not in the record"
    return found


def _same(event: Any, kernarg: bytes) -> bool:
    """Did the arguments that the record has reach hipLaunchKernel?"""
    return all(event.kernargs[at : at + size] == kernarg[at : at + size] for at, size, _ in event.args)


if __name__ == "__main__":
    main()
