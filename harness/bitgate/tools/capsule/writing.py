"""Creation of a capsule: device code for the target, launches recorded on the host, data, and the expected result.

Needs no GPU. Every launch is compared with the code object. All launches are replayed once on the host from the
capsule's data alone, which shows that the capsule is complete.
"""

from __future__ import annotations

from ctypes import CDLL, Structure, byref, c_char, c_uint32, c_uint64
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar, Literal

from msgspec import structs
from numpy.typing import NDArray

from bitgate.core.errors import UsageError
from bitgate.core.project import Project, ours
from bitgate.core.targets import target_id
from bitgate.kernel.c_problem import DEFAULT_ALIGNMENT
from bitgate.kernel.declaration import Instance, KernelFamily, wave_sizes
from bitgate.kernel.library import KernelLibrary
from bitgate.model import Problem, case_id, foreign_line, human
from bitgate.model.host_tensor import HostTensor, has_gaps
from bitgate.numerics.digest import digest
from bitgate.tools.capsule import folder
from bitgate.tools.capsule.device_code import DeviceCode
from bitgate.tools.capsule.expectation import saved
from bitgate.tools.capsule.folder import file_entry, npy
from bitgate.tools.capsule.guide import ABOUT, guide
from bitgate.tools.capsule.library_symbols import LibrarySymbols
from bitgate.tools.capsule.manifest import (
    SCHEMA,
    BufferSpec,
    CodeObjectFile,
    ExpectedResult,
    File,
    KernelStep,
    Manifest,
    TensorSpec,
)
from bitgate.tools.capsule.matching import check
from bitgate.tools.capsule.memory import Bytes, image, upload
from bitgate.tools.capsule.playing import LibraryPlayer, Playback, play
from bitgate.tools.capsule.recording import RecordedStep, record, waves_of
from bitgate.verify.compare_outputs import Judgement, OutputExpectation
from bitgate.verify.guarded import Buffers
from bitgate.verify.poison import SCRATCH_BYTES, poison_bits, poisoned
from bitgate.verify.problem_data import Inputs, Reference, reference_kind
from bitgate.verify.running import WORKSPACE
from bitgate.verify.selection import candidates, select_for
from bitgate.verify.session import Session

README = "README.txt"


@dataclass(frozen=True)
class CapsuleRequest:
    """A request for a capsule. ``kernel`` is a glob over family.instance; the first match that takes the problem is
    used."""

    problem: Problem
    target: str
    kernel: str | None = None
    options: tuple[tuple[str, str], ...] = ()
    fill: str = "exact"
    seed: int = 0
    project: Project = field(default_factory=ours)


@dataclass(frozen=True)
class WrittenCapsule:
    """A capsule and the bytes of its files. ``others``: further instances that take the problem."""

    manifest: Manifest
    files: dict[str, bytes]
    others: tuple[str, ...]


def choose(request: CapsuleRequest) -> tuple[KernelFamily, Instance, tuple[str, ...]]:
    """Return the instance for a request, and the names of the others. Raises UsageError if none takes the problem."""
    chosen = candidates(request.kernel, dict(request.options), request.target, request.project)
    families = sorted({kernel.family.name for kernel in chosen})
    chosen = [kernel for kernel in chosen if "host" in kernel.family.platforms]
    if not chosen:
        raise UsageError(f"{', '.join(families)}: not for the host platform, where launches are recorded")
    selection = select_for(request.problem, chosen)
    if not selection.supporting:
        refusals = [f"{k.name}: {e.clause}" for k, e in selection.refusing[:3]] or ["none does this operation"]
        raise UsageError(f"no kernel for {request.target} takes {case_id(request.problem)} ({'; '.join(refusals)})")
    kernel, *others = selection.supporting
    return kernel.family, kernel.instance, tuple(other.name for other in others)


def write(request: CapsuleRequest, out: Path, session: Session | None = None) -> WrittenCapsule:
    """Write the capsule of a request into a folder; errors as ``make``, and ``session`` as there."""
    made = make(request, session or Session("host", project=request.project))
    folder.write(out, made.manifest, made.files)
    return made


def make(request: CapsuleRequest, session: Session, code: DeviceCode | None = None) -> WrittenCapsule:
    """Make the capsule of a request.

    ``session`` is of the host; ``code`` is the device code of the instance, if known. Raises UsageError for mistakes of
    the user, BuildError if the device code does not compile, CapsuleDefect if a launch does not fit its code object.
    """
    if target_id(request.target).platform != "amd":
        raise UsageError(f"{request.target}: capsules hold AMD code objects: name a gfx target such as gfx942")
    family, instance, others = choose(request)
    problem, options = request.problem, dict(request.options)
    library, inputs, reference, workspace = materials(request, session, family, instance)
    files: dict[str, bytes] = {}
    contents = first_contents(problem, inputs.tensors)
    buffers = _buffers(problem, contents, workspace, files)
    images = {spec.name: image(spec, contents[spec.name].storage if spec.tensor else None) for spec in buffers}
    code = code or DeviceCode(family, instance, request.target)
    lanes = wave_sizes(request.target)[0]
    with waves_of(session.opened.device, lanes):
        with Buffers(session.opened.device, "right") as memory:
            upload(memory, buffers, images)
            steps = record(
                session.opened.device, library, problem, instance.name, options, memory.named, workspace, code
            )
        manifest = Manifest(
            schema=SCHEMA,
            about=ABOUT,
            case=case_id(problem),
            human=human(problem),
            ck_profiler=foreign_line(problem) or "",
            family=family.name,
            instance=instance.name,
            options=options,
            fill=request.fill,
            seed=request.seed,
            target=request.target,
            wave_size=lanes,
            code_objects=_code_objects(steps, files),
            buffers=buffers,
            steps=tuple(recorded.step for recorded in steps),
            expected=_expected(problem, reference, files),
            host_run="",
        )
        expectation = OutputExpectation(problem, inputs.tensors, reference, instance.tile, session.rules)
        answer = _rehearse(session, family, manifest, images, expectation, steps)
    manifest = structs.replace(manifest, host_run=answer.text)
    files[README] = guide(manifest).encode()
    return WrittenCapsule(manifest, files, others)


def materials(
    request: CapsuleRequest, session: Session, family: KernelFamily, instance: Instance
) -> tuple[KernelLibrary, Inputs, Reference, int]:
    """Return the parts of a case: its library, data, expected results, and the bytes of its workspace."""
    library, problem = session.opened.library(family.name), request.problem
    inputs = session.inputs(problem, instance, request.fill, request.seed)
    kind = reference_kind(problem, inputs.certificate.holds, family.is_reference)
    reference = session.reference(problem, instance, request.fill, request.seed, kind)
    return library, inputs, reference, library.workspace_size(problem, instance.name, dict(request.options))


def first_contents(problem: Problem, inputs: dict[str, HostTensor]) -> dict[str, HostTensor]:
    """Return the contents of the tensors' buffers before the first step, in the order in which to allocate them."""
    shared = problem.in_place
    contents = {name: tensor for name, tensor in inputs.items() if name not in shared}
    contents |= {role: poisoned(problem.tensors[role]) for role in problem.outputs}
    if shared:
        contents[problem.result] = inputs[shared[0]]
    return contents


def _buffers(
    problem: Problem, contents: dict[str, HostTensor], workspace: int, files: dict[str, bytes]
) -> tuple[BufferSpec, ...]:
    """Describe the buffers of the tensors, whose data go to ``files``, and of the workspace."""
    specs = [_tensor_buffer(problem, name, first, files) for name, first in contents.items()]
    if workspace:
        poison = f"{SCRATCH_BYTES[0]:02x}"
        specs.append(BufferSpec(WORKSPACE, "workspace", workspace, DEFAULT_ALIGNMENT, None, poison, None))
    return tuple(specs)


def _tensor_buffer(problem: Problem, name: str, first: HostTensor, files: dict[str, bytes]) -> BufferSpec:
    tensor = problem.tensors[name]
    letters = problem.operation.diagnostics.letters(problem, name)
    view = TensorSpec(tensor.dtype.name, tensor.layout, letters, tensor.lengths, tensor.strides)
    is_input = name not in problem.outputs
    begins_as_input = name == problem.result and problem.in_place
    content, pattern = None, ""
    if is_input or begins_as_input or has_gaps(tensor):  # else it is poison, which repeats
        content = _save(f"{name}.npy" if is_input else f"{name}_before.npy", first.storage, files)
    else:
        pattern = poison_bits(tensor.dtype).to_bytes(tensor.dtype.bytes, "little").hex()
    role: Literal["input", "output"] = "input" if is_input else "output"
    return BufferSpec(name, role, tensor.bytes, DEFAULT_ALIGNMENT, content, pattern, view)


def _save(file: str, array: NDArray[Any], files: dict[str, bytes]) -> File:
    if file in files:
        raise UsageError(f"two tensors of the case want the file {file}: give one of them another name")
    files[file] = npy(array)
    return file_entry(file, files[file])


def _code_objects(steps: list[RecordedStep], files: dict[str, bytes]) -> tuple[CodeObjectFile, ...]:
    units = {recorded.unit.name: recorded.unit for recorded in steps if recorded.unit is not None}
    found = []
    for unit in units.values():
        file = f"{unit.name}.co"
        files[file] = unit.data
        entry = file_entry(file, unit.data)
        found.append(CodeObjectFile(file, entry.sha256, unit.name, unit.code.target_id, unit.code.version))
    return tuple(found)


def _expected(problem: Problem, reference: Reference, files: dict[str, bytes]) -> tuple[ExpectedResult, ...]:
    several = len(problem.outputs) > 1
    return tuple(
        _of_output(reference, role, f"expected_{role}" if several else "expected", files) for role in problem.outputs
    )


def _of_output(reference: Reference, role: str, stem: str, files: dict[str, bytes]) -> ExpectedResult:
    tensor, judge = reference.tensors[role], reference.judges.get(role)
    content = _save(f"{stem}.npy", tensor.storage, files)
    tolerance = saved(judge, tensor, lambda end, array: _save(f"{stem}{end}", array, files))
    return ExpectedResult(role, content, "" if judge else digest(tensor), reference.kind, tolerance)


def _rehearse(
    session: Session,
    family: KernelFamily,
    manifest: Manifest,
    images: dict[str, Bytes],
    expectation: OutputExpectation,
    steps: list[RecordedStep],
) -> Judgement:
    """Run the launches again, each by itself, from the capsule's data. Raises CapsuleDefect if LDS sizes differ."""
    assert session.opened.device.host is not None
    runtime = session.opened.device.host.path
    used: dict[int, int] = {}

    def measure(step: KernelStep) -> None:
        used[id(step)] = lds_of_last_launch(runtime) - step.lds_dynamic

    library = session.opened.library(family.name)
    player = LibraryPlayer(LibrarySymbols(library.path))
    playback = Playback(session.opened.device, player, manifest.steps, family, library.conduct, measure)
    answer = play(playback, manifest.buffers, images, expectation)
    for recorded in steps:
        if recorded.kernel is not None and id(recorded.step) in used:
            check(recorded.launch, recorded.kernel, manifest.target, used[id(recorded.step)])
    return answer


class _HostLaunch(Structure):
    """Mirror of ``BitgateHostLaunch`` in ``bitgate_host.h``."""

    _fields_: ClassVar[Any] = [
        ("kernel", c_char * 128),
        ("grid", c_uint32 * 3),
        ("block", c_uint32 * 3),
        ("lds_bytes", c_uint64),
        ("wave_size", c_uint32),
        ("threads", c_uint32),
        ("sequence", c_uint64),
    ]


def lds_of_last_launch(runtime: Path) -> int:
    """Return the LDS bytes, static and dynamic, of a block of the host's last kernel. ``runtime`` is the loaded
    library."""
    launch = _HostLaunch()
    CDLL(str(runtime)).bitgateHostLastLaunch(byref(launch))
    return int(launch.lds_bytes)
