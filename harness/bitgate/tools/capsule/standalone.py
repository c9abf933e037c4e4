"""A case as one HIP file, its data and a Makefile, for people with a compiler and a GPU but without bitgate.

The launches are those that the host platform recorded. The file holds the kernel's headers, and names each kernel as
the library's symbol does. Code that chooses the launches is left out. Where one of the family's sources defines a
kernel, that source is included.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from ctypes import CDLL, byref, c_char_p, c_int, c_size_t
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bitgate.core.errors import UsageError
from bitgate.core.project import own_kernels
from bitgate.core.targets import TargetId, target_id
from bitgate.kernel.abi import EventKind
from bitgate.kernel.build import flags
from bitgate.kernel.build.overlay import from_environment
from bitgate.kernel.build.recipe import generated, stem
from bitgate.kernel.c_problem import DEFAULT_ALIGNMENT
from bitgate.kernel.declaration import Instance, KernelFamily, wave_sizes
from bitgate.kernel.dispatch import LaunchEvent
from bitgate.kernel.source import is_module
from bitgate.model import Problem, Tensor, case_id, foreign_line, human
from bitgate.model.host_tensor import HostTensor
from bitgate.numerics.rounding import largest
from bitgate.tools.capsule.folder import put_files
from bitgate.tools.capsule.library_symbols import LibrarySymbols
from bitgate.tools.capsule.manifest import CapsuleDefect, Place
from bitgate.tools.capsule.one_file import OneFile
from bitgate.tools.capsule.recording import argument_places, dispatched, placed, waves_of
from bitgate.tools.capsule.writing import CapsuleRequest, choose, first_contents, materials
from bitgate.verify.bounds import Bounds, NanClass
from bitgate.verify.guarded import Buffers
from bitgate.verify.poison import SCRATCH_BYTES, poison_bits
from bitgate.verify.problem_data import Reference
from bitgate.verify.running import WORKSPACE
from bitgate.verify.session import Session

SOURCE = "case.hip.cpp"
AMD = ("gfx942", "gfx1100", "gfx1201")
NVIDIA = ("sm_90",)
"""Targets of the Makefile unless one was requested: the first that has the instance."""


@dataclass(frozen=True)
class Standalone:
    """A standalone case: ``case`` and ``kernel`` by name, ``names`` of the launches in order, and the files."""

    case: str
    kernel: str
    target: str
    names: tuple[str, ...]
    files: Mapping[str, bytes]
    others: tuple[str, ...]


def write_standalone(request: CapsuleRequest, out: Path) -> Standalone:
    """Write a standalone case and replace an older one in the folder; errors as ``make_standalone``."""
    made = make_standalone(request, Session("host", project=request.project))
    put_files(out, made.files)
    return made


def make_standalone(request: CapsuleRequest, session: Session) -> Standalone:
    """Make the files of a request. ``session`` is of the host, where the launches are recorded.

    Raises UsageError for mistakes of the user, CapsuleDefect for a launch that a file cannot describe.
    """
    family, instance, others = choose(request)
    if not family.sources or is_module(family.sources):
        raise UsageError(f"{family.name} has no HIP source: a standalone case is made of a library's sources")
    target = target_id(request.target)
    problem, options = request.problem, dict(request.options)
    library, inputs, reference, workspace = materials(request, session, family, instance)
    files: dict[str, bytes] = {}
    main = [*_buffers(problem, inputs.tensors, workspace, files)]
    lanes = wave_sizes(request.target)[0]
    kernels: list[str] = []
    with waves_of(session.opened.device, lanes), Buffers(session.opened.device, "right") as memory:
        for name, tensor in first_contents(problem, inputs.tensors).items():
            memory.add(name, tensor.storage.nbytes, DEFAULT_ALIGNMENT).upload(tensor.storage)
        if workspace:
            memory.add(WORKSPACE, workspace, DEFAULT_ALIGNMENT).fill(SCRATCH_BYTES[0])
        record = dispatched(session.opened.device, library, problem, instance.name, options, memory.named, workspace)
        symbols = LibrarySymbols(library.path)
        for event in record.events:
            kernel = _template_id(symbols.names(event.function)) if event.kind is EventKind.KERNEL else ""
            kernels += [kernel] if kernel else []
            main += _step(event, kernel, memory, lanes)
    main += _comparisons(problem, reference, files)
    files[SOURCE] = _source(request, family, instance, target, kernels, main).encode()
    files["Makefile"] = _makefile(family, instance, target).encode()
    files["README.txt"] = _readme(request, family, instance, [event.name for event in record.events]).encode()
    name = f"{family.name}.{instance.name}"
    return Standalone(case_id(problem), name, target.name, tuple(e.name for e in record.events), files, others)


def _buffers(problem: Problem, inputs: dict[str, HostTensor], workspace: int, files: dict[str, bytes]) -> Iterator[str]:
    for name, tensor in first_contents(problem, inputs).items():
        if name in problem.outputs and name not in _shared(problem):
            bits = poison_bits(tensor.tensor.dtype).to_bytes(tensor.tensor.dtype.bytes, "little").hex()
            yield f'Buffer {_variable(name)}("{name}", {tensor.storage.nbytes}u, "{bits}");'
        else:
            yield f'Buffer {_variable(name)}("{name}", {_kept(files, name, tensor.storage)});'
    if workspace:
        yield f'Buffer {_variable(WORKSPACE)}("{WORKSPACE}", {workspace}u, "{SCRATCH_BYTES[0]:02x}");'


def _shared(problem: Problem) -> tuple[str, ...]:
    """Return the result, if it begins as an input."""
    return (problem.result,) if problem.in_place else ()


def _step(event: LaunchEvent, kernel: str, memory: Buffers, lanes: int) -> list[str]:
    def at(address: int) -> str:
        return _at(placed(memory.named, address, event.name))

    if event.kind is EventKind.MEMSET:
        return [f"memset_bytes({at(event.address)}, {event.source & 0xFF}, {event.bytes}u);"]
    if event.kind is EventKind.COPY:
        return [f"copy_bytes({at(event.address)}, {at(event.source)}, {event.bytes}u);"]
    data, pointers = argument_places(event, memory.named)
    lines = [f"// {event.name}", "{", "  const Arguments arguments = Arguments("]
    lines += [f'      "{row}"' for row in re.findall(".{1,96}", data.hex())] or ['      ""']
    lines[-1] += ")"
    lines += [f"    .pointer({offset}, {_at(target)})" for offset, target in pointers.items() if target is not None]
    lines[-1] += ";"
    grid, block = (", ".join(map(str, size)) for size in (event.grid, event.block))
    wave = event.wave_size or lanes
    lines.append(
        f'  start("{event.name}", &{kernel}, dim3({grid}), dim3({block}), {event.lds_bytes}, {wave}, arguments);'
    )
    return [*lines, "}"]


def _at(place: Place) -> str:
    return f"{_variable(place.buffer)}, {place.offset}u"


def _variable(name: str) -> str:
    """Return the C++ variable of a buffer: a tensor may be named like a keyword."""
    return f"{name}_buffer"


def _comparisons(problem: Problem, reference: Reference, files: dict[str, bytes]) -> Iterator[str]:
    yield "const int64_t most = most_of(argc, argv);"
    yield "int64_t wrong = 0;"
    for role in problem.outputs:
        expected = reference.tensors[role]
        read = _kept(files, f"expected_{role}", expected.storage)
        yield "{"
        yield "  Tolerance tolerance;"
        yield from (f"  {line}" for line in _tolerance(role, expected, reference, files))
        yield f"  wrong += compare({_variable(role)}, {_tensor(expected.tensor)}, {read},"
        yield "                   tolerance, most);"
        yield "}"
    for name in problem.tensors:
        if name not in problem.outputs and name not in problem.in_place:
            yield f"wrong += changed({_variable(name)});"
    yield "return wrong ? 1 : 0;"


def _tolerance(role: str, expected: HostTensor, reference: Reference, files: dict[str, bytes]) -> Iterator[str]:
    judge = reference.judges.get(role)
    if isinstance(judge, NanClass):
        poison = poison_bits(expected.tensor.dtype).to_bytes(expected.tensor.dtype.bytes, "little").hex()
        yield "tolerance.any_nan = true;"
        yield f'tolerance.poison = hex("{poison}");'
    elif isinstance(judge, Bounds):
        arrays: dict[str, NDArray[Any]] = {
            "value": judge.value.astype(np.float64),
            "slack": judge.slack.astype(np.float64),
            "exact": judge.exact.astype(np.uint8),
            "open": judge.open.astype(np.uint8),
            "nan": judge.nan.astype(np.uint8),
        }
        for name, array in arrays.items():
            yield f"tolerance.{name} = {_kept(files, f'{role}_{name}', array)};"
        yield f"tolerance.largest = {float(largest(expected.tensor.dtype))!r};"


def _kept(files: dict[str, bytes], name: str, array: NDArray[Any]) -> str:
    """Save the memory of an array as a file, and return the C++ that reads it."""
    files[f"{name}.bin"] = data = np.ascontiguousarray(array).tobytes()
    return f'file("{name}.bin", {len(data)}u)'


def _tensor(tensor: Tensor) -> str:
    lengths, strides = (", ".join(map(str, sizes)) for sizes in (tensor.lengths, tensor.strides))
    return f'Tensor{{dtype_named("{tensor.dtype.name}"), {{{lengths}}}, {{{strides}}}}}'


def _source(
    request: CapsuleRequest,
    family: KernelFamily,
    instance: Instance,
    target: TargetId,
    kernels: list[str],
    main: list[str],
) -> str:
    kernels_room = own_kernels()
    platforms = kernels_room / "platforms"
    room = OneFile(
        (kernels_room / "include", family.folder),
        (platforms / "nvidia" / "include", platforms / "host" / "include", platforms / "nvidia" / "include" / "hip"),
        {(kernels_room.parent / place).resolve(): other for place, other in from_environment().items()},
    )
    texts = generated(family, target.name)
    units = [family.folder / source for source in family.sources]
    own = [unit for unit in units if unit in texts and stem(unit) == instance.group] or [u for u in units if u in texts]
    for unit in own:
        room.add(_includes(texts[unit]), family.folder)
    room.add('#include "bitgate/dtype.hpp"\n#include "bitgate/standalone.hpp"', kernels_room / "include")
    wanted = {re.split(r"[<(]", kernel)[0].rpartition("::")[2] for kernel in kernels}
    for unit in units:
        if unit not in texts and not _defined(wanted, room.text):
            room.add(room.instead(unit).read_text(encoding="utf-8"), unit.parent)
    lacking = sorted(name for name in wanted if not _defined({name}, room.text))
    if lacking:
        raise CapsuleDefect(f"no source of {family.name} defines {', '.join(lacking)}: nothing to copy it from")
    head = [
        f"// {human(request.problem)}",
        f"// case    {case_id(request.problem)}",
        f"// kernel  {family.name}.{instance.name}" + "".join(f" {n}={v}" for n, v in request.options),
        f"// made for {target.name}; README.txt says how to build and run it",
    ]
    body = ["int main(int argc, char** argv) {", "  using namespace bitgate;", "  using namespace bitgate::standalone;"]
    return "\n".join([*head, "", room.text, *body, *(f"  {line}" for line in main), "}", ""])


def _includes(text: str) -> str:
    """Return the includes of a generated unit, which registers instances below them."""
    return "\n".join(line for line in text.splitlines() if line.lstrip().startswith("#include"))


def _defined(names: set[str], text: str) -> bool:
    """Say whether a text defines a kernel of each of these names."""
    return all(re.search(rf"__global__[^;{{]*\b{name}\s*\(", text) for name in names)


def _template_id(mangled: tuple[str, ...]) -> str:
    """Return the C++ name of a kernel from its symbol. Raises CapsuleDefect for one without a name outside its file."""
    name = _demangled(mangled[0])
    if "(anonymous namespace)" in name or "{lambda" in name:
        raise CapsuleDefect(f"{name} has no name outside its source: give it external linkage")
    name = name.removeprefix("void ")
    depth = 0
    for at in range(len(name) - 1, -1, -1):  # the list of parameters is the last one in parentheses
        depth += (name[at] == ")") - (name[at] == "(")
        if depth == 0 and name[at] == "(":
            return name[:at]
    return name


def _demangled(symbol: str) -> str:
    """Demangle a symbol by the C++ runtime, which the kernel's library needs anyway."""
    library, status = CDLL("libstdc++.so.6"), c_int()
    library.__cxa_demangle.restype = c_char_p
    found = library.__cxa_demangle(c_char_p(symbol.encode()), None, c_size_t(0), byref(status))
    if status.value != 0 or not found:
        return symbol  # a C function
    return str(found.decode())


def _makefile(family: KernelFamily, instance: Instance, target: TargetId) -> str:
    amd, nvidia = (_nearest(family, instance, target, names) for names in (AMD, NVIDIA))
    return _MAKEFILE.format(
        hip=_format_flags(flags.hip_kernel(amd)),
        cuda=_format_flags(flags.cuda_kernel(nvidia)),
        host=_format_flags(flags.host_kernel("gnu")),
        source=SOURCE,
    )


def _nearest(family: KernelFamily, instance: Instance, target: TargetId, names: tuple[str, ...]) -> TargetId:
    """Return the requested target if it is of the platform of ``names``, else the first that has the instance."""
    others = [target_id(name) for name in names]
    if target.platform == others[0].platform:
        return target
    return next((other for other in others if family.on(other.name).instance(instance.name)), others[0])


def _format_flags(words: tuple[str, ...]) -> str:
    """Format the compiler flags of an executable, for make's shell."""
    return " ".join(word.replace('"', '\\"') for word in words if not _is_of_libraries(word))


def _is_of_libraries(flag: str) -> bool:
    return flag in ("-fPIC", "-fvisibility=hidden") or flag.startswith("-Xcompiler=")


_MAKEFILE = """\
# make          builds `case` with hipcc        make cuda    with nvcc
# make host     with g++ and a HIP runtime for CPUs: HIP_HOST=folder of include/hip and lib/libamdhip64.so
HIPCC ?= hipcc
NVCC ?= nvcc
CXX ?= g++
HIPFLAGS ?= {hip}
CUDAFLAGS ?= {cuda}
HOSTFLAGS ?= {host}

case: {source}
\t$(HIPCC) $(HIPFLAGS) {source} -o $@

cuda: {source}
\t$(NVCC) $(CUDAFLAGS) {source} -o case

host: {source}
\t$(CXX) $(HOSTFLAGS) -I$(HIP_HOST)/include {source} -o case -L$(HIP_HOST)/lib -lamdhip64 -Wl,-rpath,$(HIP_HOST)/lib

run: case
\t./case

clean:
\trm -f case

.PHONY: cuda host run clean
"""


def _readme(request: CapsuleRequest, family: KernelFamily, instance: Instance, names: list[str]) -> str:
    foreign = foreign_line(request.problem)
    return "\n".join(
        [
            human(request.problem),
            f"case     {case_id(request.problem)}, data: {request.fill}, seed {request.seed}",
            f"kernel   {family.name}.{instance.name}" + "".join(f" {n}={v}" for n, v in request.options),
            *([f"same     {foreign}"] if foreign else []),
            f"steps    {', '.join(names)}",
            "",
            "    make && ./case            hipcc; another GPU: edit --offload-arch and the defines in HIPFLAGS",
            "    make cuda && ./case       nvcc",
            "    ./case 1000               prints up to 1000 wrong cells instead of 20",
            "",
            "It exits with 0 if every cell is as expected, with 1 if one is not, with 2 if a call failed.",
            f"{SOURCE} is complete: the kernel with its headers, then main() with the launches as they were recorded.",
            "*.bin is memory from its first byte to its last; expected_*.bin was computed on a CPU.",
            "",
        ]
    )
