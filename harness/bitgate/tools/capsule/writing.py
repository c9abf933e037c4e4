"""Makes a capsule: device code for the target, launches recorded on the host, data, and the expected result.

Needs no GPU. Every launch is held against the code object, and all of them are replayed once on the host from nothing
but the capsule's own data, so that what is written is known to be complete.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

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
from bitgate.tools.capsule.folder import named, npy
from bitgate.tools.capsule.guide import ABOUT, guide
from bitgate.tools.capsule.host_lds import lds_of_last_launch
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
from bitgate.tools.capsule.recording import Recorded, record, waves_of
from bitgate.tools.capsule.tolerance import saved
from bitgate.verify.compare_outputs import Judgement, OutputExpectation
from bitgate.verify.guarded import Buffers
from bitgate.verify.poison import SCRATCH_BYTES, poison_bits, poisoned
from bitgate.verify.running import WORKSPACE
from bitgate.verify.selection import candidates, select_for
from bitgate.verify.session import Inputs, Reference, Session, reference_kind

README = "README.txt"


@dataclass(frozen=True)
class CapsuleRequest:
    """What is asked for. ``kernel`` is a glob over family.instance; the first instance that takes the problem is it."""

    problem: Problem
    target: str
    kernel: str | None = None
    options: tuple[tuple[str, str], ...] = ()
    fill: str = "exact"
    seed: int = 0
    project: Project = field(default_factory=ours)


@dataclass(frozen=True)
class WrittenCapsule:
    """A capsule and the bytes of its files. ``others``: instances that take the problem too."""

    manifest: Manifest
    files: dict[str, bytes]
    others: tuple[str, ...]


def choose(order: CapsuleRequest) -> tuple[KernelFamily, Instance, tuple[str, ...]]:
    """The instance for an order, and the names of the others. UsageError says why none takes the problem."""
    chosen = candidates(order.kernel, dict(order.options), order.target, order.project)
    families = sorted({kernel.family.name for kernel in chosen})
    chosen = [kernel for kernel in chosen if "host" in kernel.family.platforms]
    if not chosen:
        raise UsageError(f"{', '.join(families)}: not for the host platform, where launches are recorded")
    selection = select_for(order.problem, chosen)
    if not selection.supporting:
        refusals = [f"{k.name}: {e.clause}" for k, e in selection.refusing[:3]] or ["none does this operation"]
        raise UsageError(f"no kernel for {order.target} takes {case_id(order.problem)} ({'; '.join(refusals)})")
    kernel, *others = selection.supporting
    return kernel.family, kernel.instance, tuple(other.name for other in others)


def write(order: CapsuleRequest, out: Path) -> WrittenCapsule:
    """Write the capsule of an order into a folder; errors as ``make``."""
    made = make(order, Session("host", project=order.project))
    folder.write(out, made.manifest, made.files)
    return made


def make(order: CapsuleRequest, session: Session, code: DeviceCode | None = None) -> WrittenCapsule:
    """The capsule of an order. ``session`` is of the host; ``code`` the device code of the order's instance, if known.

    UsageError for what is the user's to mend, BuildError if the device code does not compile, CapsuleDefect if a launch
    does not fit its code object.
    """
    if target_id(order.target).platform != "amd":
        raise UsageError(f"{order.target}: capsules hold AMD code objects: name a gfx target such as gfx942")
    family, instance, others = choose(order)
    problem, options = order.problem, dict(order.options)
    library, inputs, reference, workspace = materials(order, session, family, instance)
    files: dict[str, bytes] = {}
    contents = first_contents(problem, inputs.tensors)
    buffers = _buffers(problem, contents, workspace, files)
    images = {spec.name: image(spec, contents[spec.name].storage if spec.tensor else None) for spec in buffers}
    code = code or DeviceCode(family, instance, order.target)
    lanes = wave_sizes(order.target)[0]
    with waves_of(session.device, lanes):
        with Buffers(session.device, "right") as memory:
            upload(memory, buffers, images)
            steps = record(session.device, library, problem, instance.name, options, memory.named, workspace, code)
        manifest = Manifest(
            schema=SCHEMA,
            about=ABOUT,
            case=case_id(problem),
            human=human(problem),
            ck_profiler=foreign_line(problem) or "",
            family=family.name,
            instance=instance.name,
            options=options,
            fill=order.fill,
            seed=order.seed,
            target=order.target,
            wave_size=lanes,
            code_objects=_code_objects(steps, files),
            buffers=buffers,
            steps=tuple(recorded.step for recorded in steps),
            expected=_expected(problem, reference, files),
            host_run="",
        )
        question = OutputExpectation(problem, inputs.tensors, reference, instance.tile, session.rules)
        answer = _rehearse(session, family, manifest, images, question, steps)
    manifest = structs.replace(manifest, host_run=answer.words)
    files[README] = guide(manifest).encode()
    return WrittenCapsule(manifest, files, others)


def materials(
    order: CapsuleRequest, session: Session, family: KernelFamily, instance: Instance
) -> tuple[KernelLibrary, Inputs, Reference, int]:
    """What a case is made of: its library, data, what must come of them, and the bytes of its workspace."""
    library, problem = session.library(family.name), order.problem
    inputs = session.inputs(problem, instance, order.fill, order.seed)
    kind = reference_kind(problem, inputs.certificate.holds, family.is_reference)
    reference = session.reference(problem, instance, order.fill, order.seed, kind)
    return library, inputs, reference, library.workspace_size(problem, instance.name, dict(order.options))


def first_contents(problem: Problem, inputs: dict[str, HostTensor]) -> dict[str, HostTensor]:
    """What the buffers of tensors hold before the first step, in the order in which to allocate them."""
    shared = problem.in_place
    contents = {name: tensor for name, tensor in inputs.items() if name not in shared}
    contents |= {role: poisoned(problem.tensors[role]) for role in problem.outputs}
    if shared:
        contents[problem.result] = inputs[shared[0]]
    return contents


def _buffers(
    problem: Problem, contents: dict[str, HostTensor], workspace: int, files: dict[str, bytes]
) -> tuple[BufferSpec, ...]:
    """Of the tensors, whose data go to ``files``, and of the workspace."""
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
    return named(file, files[file])


def _code_objects(steps: list[Recorded], files: dict[str, bytes]) -> tuple[CodeObjectFile, ...]:
    units = {recorded.unit.name: recorded.unit for recorded in steps if recorded.unit is not None}
    found = []
    for unit in units.values():
        file = f"{unit.name}.co"
        files[file] = unit.data
        entry = named(file, unit.data)
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
    question: OutputExpectation,
    steps: list[Recorded],
) -> Judgement:
    """The launches once more, each by itself, from the capsule's data; CapsuleDefect if LDS sizes differ."""
    assert session.device.host is not None
    runtime = session.device.host.path
    used: dict[int, int] = {}

    def measure(step: KernelStep) -> None:
        used[id(step)] = lds_of_last_launch(runtime) - step.lds_dynamic

    library = session.library(family.name)
    player = LibraryPlayer(LibrarySymbols(library.path))
    playback = Playback(session.device, player, manifest.steps, family, library.conduct, measure)
    answer = play(playback, manifest.buffers, images, question)
    for recorded in steps:
        if recorded.kernel is not None and id(recorded.step) in used:
            check(recorded.launch, recorded.kernel, manifest.target, used[id(recorded.step)])
    return answer
