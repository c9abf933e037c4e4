"""The text in a capsule for those who load it without bitgate."""

from __future__ import annotations

from bitgate.tools.capsule.manifest import (
    BufferSpec,
    ExpectedResult,
    KernelStep,
    Manifest,
    MemsetStep,
    NanClassSpec,
    Place,
    Step,
)

ABOUT = (
    "One problem as device code, launches, data and the expected results. Allocate the buffers, fill them, run the"
    " steps in order, compare: README.txt has it step by step. Replay: bitgate capsule replay FOLDER"
)


def guide(manifest: Manifest) -> str:
    """Return README.txt: the steps of this capsule in words, and how each part of the manifest is used."""
    lines = [
        manifest.human,
        f"case     {manifest.case}",
        f"kernel   {manifest.family}.{manifest.instance}"
        + "".join(f" {name}={value}" for name, value in manifest.options.items()),
        f"target   {manifest.target}, waves of {manifest.wave_size} lanes",
        *([f"same     {manifest.ck_profiler}"] if manifest.ck_profiler else []),
        f"on the host platform these launches gave: {manifest.host_run}",
        "",
        "manifest.json has all that follows in a form for programs.",
        "",
        "1. Buffers: device memory of these sizes, with these first contents.",
        *(
            f"     {spec.name}: {spec.bytes} bytes, aligned to {spec.alignment}, {_format_content(spec)}"
            for spec in manifest.buffers
        ),
        "   A .npy file holds the memory from its first byte to its last; bf16 and f8 are saved as unsigned integers.",
        "",
        "2. Steps, in order, on one stream:",
        *(f"     {number}. {_format_step(step)}" for number, step in enumerate(manifest.steps, 1)),
        "",
        "3. Compare:",
        *(f"     {_format_comparison(expected)}" for expected in manifest.expected),
        "",
        _LOADING,
    ]
    return "\n".join(lines) + "\n"


def _format_content(spec: BufferSpec) -> str:
    return spec.content.file if spec.content is not None else f"the bytes {spec.pattern} over and over (poison)"


def _format_step(step: Step) -> str:
    if isinstance(step, MemsetStep):
        return f"memset {_format_place(step.destination)}, {step.bytes} bytes of {step.value}"
    if isinstance(step, KernelStep):
        lds = step.lds_dynamic + step.lds_static
        return (
            f"kernel {step.symbol} of {step.code_object}: grid {_format_triple(step.grid)} blocks,"
            f" block {_format_triple(step.block)} threads,"
            f" {lds} bytes of LDS ({step.lds_dynamic} dynamic), {step.kernarg.bytes} bytes of kernargs"
        )
    return f"copy {step.bytes} bytes from {_format_place(step.source)} to {_format_place(step.destination)}"


def _format_place(place: Place) -> str:
    return f"{place.buffer}+{place.offset}"


def _format_triple(sizes: tuple[int, int, int]) -> str:
    return "x".join(map(str, sizes))


def _format_comparison(expected: ExpectedResult) -> str:
    tolerance = expected.tolerance
    if tolerance is None:
        return f"{expected.buffer} must equal {expected.content.file} in every bit (digest {expected.digest})."
    if isinstance(tolerance, NanClassSpec):
        return (
            f"{expected.buffer} must equal {expected.content.file} in every bit; for an expected NaN any NaN will do"
            f" except {tolerance.poison}, the poison."
        )
    return (
        f"each cell of {expected.buffer} lies within {tolerance.slack.file} of {tolerance.value.file} (f64, logical"
        f" order), see its tolerance in the manifest; {expected.content.file} is the value rounded."
    )


_LOADING = """\
With HIP: hipModuleLoad the code object, hipModuleGetFunction the symbol. Of kernarg.hex take the first explicit_bytes
bytes, write at each of kernarg.pointers the address of its buffer plus offset (null where there is no target), and
launch; the runtime adds the hidden arguments itself:

    void* extra[] = {HIP_LAUNCH_PARAM_BUFFER_POINTER, kernargs, HIP_LAUNCH_PARAM_BUFFER_SIZE, &size,
                     HIP_LAUNCH_PARAM_END};
    hipModuleLaunchKernel(function, grid[0], grid[1], grid[2], block[0], block[1], block[2], lds_dynamic, stream,
                          nullptr, extra);

With an AQL packet, a debugger or an emulator: the descriptor (symbol.kd) is the kernel object. The grid of a packet is
counted in threads (grid_threads), its group segment is lds_static + lds_dynamic, its private segment
resources.scratch a lane, its setup has three dimensions. Pass all of kernarg.hex, aligned to kernarg.alignment, with
the pointers written in: hidden arguments are in it. Where kernarg.hidden has no value, only a runtime can make one.
Workgroup ids and sizes that a kernel reads as blockIdx, blockDim and gridDim come from registers and from there."""
