"""Runs an exported capsule over HIP's module API: ``python3 loader.py FOLDER [--hip LIBRARY] [--by TEXT]``.

It needs Python alone and any libamdhip64.so, of ROCm or of an emulator; adapt it to whatever else runs code objects.
FOLDER/results.json and the outputs' bytes next to it are for ``bitgate capsule check FOLDER``.
"""

from __future__ import annotations

import argparse
import ctypes
import hashlib
import json
import struct
import sys
from pathlib import Path
from typing import Any

TO_DEVICE, TO_HOST, WITHIN = 1, 2, 3
BUFFER_POINTER, BUFFER_SIZE, END = 1, 2, 3


class Hip:
    """HIP's functions, each of the last library that has it; one that fails ends the run with its name."""

    def __init__(self, libraries: list[str]) -> None:
        self.libraries = [ctypes.CDLL(library, mode=ctypes.RTLD_GLOBAL) for library in libraries]

    def call(self, name: str, *arguments: Any) -> None:
        function = next(getattr(one, name) for one in self.libraries[::-1] if hasattr(one, name))
        if code := function(*arguments):
            raise RuntimeError(f"{name} returned {code}")


class Run:
    """One run of a capsule: its buffers on the device, and the modules that it has loaded."""

    def __init__(self, folder: Path, document: dict[str, Any], hip: Hip) -> None:
        self.folder, self.document, self.hip = folder, document, hip
        self.memory: dict[str, int] = {}
        self.modules: dict[str, ctypes.c_void_p] = {}

    def fill(self) -> None:
        """Allocate each buffer and put its first bytes there."""
        for buffer in self.document["buffers"]:
            size, pointer = buffer["bytes"], ctypes.c_void_p()
            self.hip.call("hipMalloc", ctypes.byref(pointer), ctypes.c_size_t(size + buffer["alignment"]))
            address = -(-int(pointer.value or 0) // buffer["alignment"]) * buffer["alignment"]
            if buffer["file"]:
                data = (self.folder / buffer["file"]).read_bytes()[buffer["at"] :][:size]
            else:
                pattern = bytes.fromhex(buffer["pattern"])
                data = (pattern * (size // len(pattern) + 1))[:size]
            self.copy(address, data, size, TO_DEVICE)
            self.memory[buffer["name"]] = address

    def copy(self, to: Any, source: Any, size: int, kind: int) -> None:
        place = ctypes.c_void_p(to) if isinstance(to, int) else to
        origin = ctypes.c_void_p(source) if isinstance(source, int) else source
        self.hip.call("hipMemcpy", place, origin, ctypes.c_size_t(size), kind)

    def step(self, step: dict[str, Any]) -> None:
        if step["kind"] == "kernel":
            self.launch(step)
        elif step["kind"] == "memset":
            place = ctypes.c_void_p(self.memory[step["buffer"]] + step["offset"])
            self.hip.call("hipMemset", place, step["value"], ctypes.c_size_t(step["bytes"]))
        else:
            source = self.memory[step["source"]] + step["source_offset"]
            self.copy(self.memory[step["buffer"]] + step["offset"], source, step["bytes"], WITHIN)

    def launch(self, step: dict[str, Any]) -> None:
        """Write the buffers' addresses into the arguments, and launch with them; the runtime adds the hidden ones."""
        file, function = step["code_object"], ctypes.c_void_p()
        if file not in self.modules:
            self.modules[file] = ctypes.c_void_p()
            self.hip.call("hipModuleLoad", ctypes.byref(self.modules[file]), str(self.folder / file).encode())
        self.hip.call("hipModuleGetFunction", ctypes.byref(function), self.modules[file], step["symbol"].encode())
        kernarg = bytearray.fromhex(step["kernarg"])
        for fixup in step["fixups"]:
            address = self.memory[fixup["buffer"]] + fixup["add"] if fixup["buffer"] else 0
            struct.pack_into("<Q", kernarg, fixup["offset"], address)
        explicit = ctypes.create_string_buffer(bytes(kernarg[: step["explicit_bytes"]]), step["explicit_bytes"])
        size = ctypes.c_size_t(step["explicit_bytes"])
        extra = (ctypes.c_void_p * 5)(
            BUFFER_POINTER, ctypes.addressof(explicit), BUFFER_SIZE, ctypes.addressof(size), END
        )
        sizes = (ctypes.c_uint(length) for length in (*step["grid"], *step["block"], step["lds_dynamic"]))
        self.hip.call("hipModuleLaunchKernel", function, *sizes, None, None, extra)
        self.hip.call("hipDeviceSynchronize")

    def outputs(self) -> list[dict[str, str]]:
        """Write each output's bytes into the folder, and say whether they are as expected where bytes decide."""
        found = []
        for expected in self.document["expected"]:
            name, size = expected["buffer"], expected["bytes"]
            data = ctypes.create_string_buffer(size)
            self.copy(data, self.memory[name], size, TO_HOST)
            (self.folder / f"result_{name}.bin").write_bytes(data.raw)
            wanted = (self.folder / expected["file"]).read_bytes()[expected["at"] :][:size]
            same = "equal" if data.raw == wanted else "different" if expected["compare"] == "bits" else "to be judged"
            print(f"{name}: {same} ({expected['compare']})")
            found.append({"buffer": name, "file": f"result_{name}.bin"})
        return found


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--hip", action="append", help="the HIP runtime [libamdhip64.so]; repeatable")
    parser.add_argument("--by", default="", help="what runs it, for the report: an emulator and its version")
    parser.add_argument("--json", default="export.json", help="the document of the launches")
    asked = parser.parse_args()
    libraries = asked.hip or ["libamdhip64.so"]
    text = (asked.folder / asked.json).read_bytes()
    document = json.loads(text)
    same = {name: document[name] for name in ("case", "kernel", "target")}
    results = {"format": "bitgate capsule results", "schema": 1, **same, "by": asked.by or libraries[0]}
    results["document"] = hashlib.sha256(text).hexdigest()
    try:
        run = Run(asked.folder, document, Hip(libraries))
        run.fill()
        for step in document["steps"]:
            run.step(step)
        results["outputs"] = run.outputs()
    except (OSError, RuntimeError, StopIteration) as error:
        results["failed"] = str(error) or "a function of HIP is missing"
        print(f"{document['case']}: {error}", file=sys.stderr)
    (asked.folder / "results.json").write_text(json.dumps(results, indent=1) + "\n")
    return 1 if "failed" in results else 0


if __name__ == "__main__":
    sys.exit(main())
