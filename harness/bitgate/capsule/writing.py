"""Makes a capsule: device code for the target, launches recorded on the host, data, and the expected result.

Needs no GPU. Every launch is held against the code object, and all of them are replayed once on the host from nothing
but the capsule's own data, so that what is written is known to be complete.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal

from numpy.typing import NDArray

from bitgate.capsule import folder
from bitgate.capsule.device_code import DeviceCode
from bitgate.capsule.folder import named, npy
from bitgate.capsule.guide import ABOUT, guide
from bitgate.capsule.host_lds import lds_of_last_launch
from bitgate.capsule.judging import Answer, Question, run_and_judge
from bitgate.capsule.library_symbols import LibrarySymbols
from bitgate.capsule.manifest import SCHEMA, BufferSpec, CodeObject, Expected, File, KernelStep, Manifest, TensorView
from bitgate.capsule.matching import check
from bitgate.capsule.memory import Bytes, Memory, image
from bitgate.capsule.playing import LibraryPlayer
from bitgate.capsule.recording import Recorded, record, waves_of
from bitgate.capsule.tolerance import saved
from bitgate.errors import UsageError
from bitgate.kernel.declaration import Instance, KernelFamily, wave_sizes
from bitgate.kernel.lent import DEFAULT_ALIGNMENT
from bitgate.operation import Problem, Tensor, case_id, foreign_line, human
from bitgate.operation.host_tensor import HostTensor, has_gaps
from bitgate.project import Project, ours
from bitgate.target_id import target_id
from bitgate.verify.bounds import Judge
from bitgate.verify.poison import poison_bits, poisoned
from bitgate.verify.running import WORKSPACE_POISON
from bitgate.verify.selection import candidates, select_for
from bitgate.verify.session import Reference, Session, reference_kind

README = "README.txt"


@dataclass(frozen=True)
class Order:
    """What is asked for. ``kernel`` is a glob over family.instance; the first instance that takes the problem is it."""

    problem: Problem
    target: str
    kernel: str | None = None
    options: tuple[tuple[str, str], ...] = ()
    fill: str = "exact"
    seed: int = 0
    project: Project = field(default_factory=ours)


@dataclass(frozen=True)
class Made:
    """A capsule and the bytes of its files. ``others``: instances that take the problem too."""

    manifest: Manifest
    files: dict[str, bytes]
    others: tuple[str, ...]


def choose(order: Order) -> tuple[KernelFamily, Instance, tuple[str, ...]]:
    """The instance for an order, and the names of the others. UsageError says why none takes the problem."""
    if target_id(order.target).platform != "amd":
        raise UsageError(f"{order.target}: capsules hold AMD code objects: name a gfx target such as gfx942")
    if len(order.problem.outputs) > 1:
        written = ", ".join(order.problem.outputs)
        raise UsageError(f"{case_id(order.problem)} writes {written}: a capsule expects one output, so far; use verify")
    chosen = candidates(order.kernel, dict(order.options), order.target, order.project)
    chosen = [(family, instance) for family, instance in chosen if "host" in family.platforms]
    selection = select_for(order.problem, chosen, dict(order.options))
    if not selection.supporting:
        told = [f"{f.name}.{i.name}: {e.clause}" for f, i, e in selection.refusing[:3]] or ["none does this operation"]
        raise UsageError(f"no kernel for {order.target} takes {case_id(order.problem)} ({'; '.join(told)})")
    family, instance, _ = selection.supporting[0]
    return family, instance, tuple(f"{f.name}.{i.name}" for f, i, _ in selection.supporting[1:])


def write(order: Order, out: Path) -> Made:
    """Write the capsule of an order into a folder; errors as ``make``."""
    made = make(order, Session("host", project=order.project))
    folder.write(out, made.manifest, made.files)
    return made


def make(order: Order, session: Session, code: DeviceCode | None = None) -> Made:
    """The capsule of an order. ``session`` is of the host; ``code`` the device code of the order's instance, if known.

    UsageError for what is the user's to mend, BuildError if the device code does not compile, CapsuleDefect if a launch
    does not fit its code object.
    """
    family, instance, others = choose(order)
    library = session.library(family.name)
    problem, options = order.problem, dict(order.options)
    inputs = session.inputs(problem, instance, order.fill, order.seed)
    kind = reference_kind(problem, inputs.certificate.holds, family.is_reference)
    reference = session.reference(problem, instance, order.fill, order.seed, kind)
    workspace = library.workspace_size(problem, instance.name, options)

    files: dict[str, bytes] = {}
    buffers = _buffers(problem, inputs.tensors, workspace, files)
    images = _images(problem, inputs.tensors, buffers)
    code = code or DeviceCode(family, instance, order.target)
    lanes = wave_sizes(order.target)[0]
    with waves_of(session.device, lanes):
        with Memory(session.device, buffers, images) as memory:
            steps = record(session.device, library, problem, instance.name, options, memory, workspace, code)
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
        question = Question(problem, inputs.tensors, *_only(problem, reference), instance.tile)
        answer = _rehearse(session, family, manifest, images, question, steps)
    manifest = replace(manifest, host_run=answer.words)
    files[README] = guide(manifest).encode()
    return Made(manifest, files, others)


def _buffers(
    problem: Problem, inputs: dict[str, HostTensor], workspace: int, files: dict[str, bytes]
) -> tuple[BufferSpec, ...]:
    """Inputs, the result and the workspace; the data of inputs goes to ``files``."""
    specs = [_tensor_buffer(problem, tensor.tensor, "input", tensor, files) for tensor in inputs.values()]
    result = problem.tensors[problem.result]
    # Poison repeats, unless gaps interrupt it.
    blank = poisoned(result) if has_gaps(result) else None
    specs.append(_tensor_buffer(problem, result, "output", blank, files))
    if workspace:
        poison = f"{WORKSPACE_POISON:02x}"
        specs.append(BufferSpec("workspace", "workspace", workspace, DEFAULT_ALIGNMENT, None, poison, None))
    return tuple(specs)


def _tensor_buffer(
    problem: Problem,
    tensor: Tensor,
    role: Literal["input", "output"],
    data: HostTensor | None,
    files: dict[str, bytes],
) -> BufferSpec:
    view = TensorView(
        tensor.dtype.name,
        tensor.layout,
        problem.operation.insight.letters(problem, tensor.name),
        tensor.lengths,
        tensor.strides,
    )
    content, pattern = None, ""
    if data is None:
        pattern = poison_bits(tensor.dtype).to_bytes(tensor.dtype.bytes, "little").hex()
    else:
        file = f"{tensor.name}.npy" if role == "input" else f"{tensor.name}_before.npy"
        files[file] = npy(data.storage)
        content = named(file, files[file])
    return BufferSpec(tensor.name, role, tensor.bytes, DEFAULT_ALIGNMENT, content, pattern, view)


def _images(problem: Problem, inputs: dict[str, HostTensor], buffers: tuple[BufferSpec, ...]) -> dict[str, Bytes]:
    known = {name: tensor.storage for name, tensor in inputs.items()}
    known[problem.result] = poisoned(problem.tensors[problem.result]).storage
    return {spec.name: image(spec, known.get(spec.name)) for spec in buffers}


def _code_objects(steps: list[Recorded], files: dict[str, bytes]) -> tuple[CodeObject, ...]:
    units = {recorded.unit.name: recorded.unit for recorded in steps if recorded.unit is not None}
    found = []
    for unit in units.values():
        file = f"{unit.name}.co"
        files[file] = unit.data
        entry = named(file, unit.data)
        found.append(CodeObject(file, entry.sha256, unit.name, unit.code.target_id, unit.code.version))
    return tuple(found)


def _expected(problem: Problem, reference: Reference, files: dict[str, bytes]) -> Expected:
    def save(file: str, array: NDArray[Any]) -> File:
        files[file] = npy(array)
        return named(file, files[file])

    tensor, judge = _only(problem, reference)
    content = save("expected.npy", tensor.storage)
    tolerance = saved(judge, tensor, save)
    return Expected(problem.result, content, reference.digest, reference.kind, tolerance)


def _only(problem: Problem, reference: Reference) -> tuple[HostTensor, Judge | None]:
    """What is expected of the only output, and who judges it if bits do not."""
    return reference.tensors[problem.result], reference.judges.get(problem.result)


def _rehearse(
    session: Session,
    family: KernelFamily,
    manifest: Manifest,
    images: dict[str, Bytes],
    question: Question,
    steps: list[Recorded],
) -> Answer:
    """The launches once more, each by itself, from the capsule's data; CapsuleDefect if LDS sizes differ."""
    assert session.device.host is not None
    runtime = session.device.host.path
    used: dict[int, int] = {}

    def measure(step: KernelStep) -> None:
        used[id(step)] = lds_of_last_launch(runtime) - step.lds_dynamic

    player = LibraryPlayer(LibrarySymbols(session.library(family.name).path))
    answer, _ = run_and_judge(session.device, player, manifest, images, question, measure)
    for recorded in steps:
        if recorded.kernel is not None and id(recorded.step) in used:
            check(recorded.launch, recorded.kernel, manifest.target, used[id(recorded.step)])
    return answer
