"""What it takes to say what is wrong with a large result: seconds of each rule, of the comparison and of the view.

``python benchmarks/wrong_results.py [--injury NAME] [--least S] [CASE...]``

Default: layers of ResNet-50 at batch 256 in each pass, a GEMM and a reduction of that size. Results and operands are
drawn, laid out as a kernel leaves them, and injured in every way that is known here. Prints a line for each part that
takes --least seconds (1) or more, and one for each injury: all seconds, and the most memory that was held, beside that
of the tensors. No device is needed.
"""

from __future__ import annotations

import argparse
import sys
import tracemalloc
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from time import process_time
from typing import Any

import numpy as np

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "harness"))

from bitgate.model import Accumulation, Problem, case_id, parse_case_id  # noqa: E402
from bitgate.model.host_tensor import HostTensor  # noqa: E402
from bitgate.numerics.fill import make_inputs, plan_fill  # noqa: E402
from bitgate.verify.compare_outputs import compare  # noqa: E402
from bitgate.verify.diagnose import Scene, diagnose, engine  # noqa: E402
from bitgate.verify.pipeline import Dump  # noqa: E402
from bitgate.verify.poison import poison_bits  # noqa: E402
from bitgate.verify.view import view_of  # noqa: E402

CASES = (
    "fwd_f16_nhwgc_n256k64c3_y7_h224_s2_p3",
    "bwd_data_f16_nhwgc_n256k64c3_y7_h224_s2_p3",
    "bwd_weight_f16_nhwgc_n256k64c3_y7_h224_s2_p3",
    "fwd_bf16_nhwgc_n256k256c64_y1_h56",
    "bwd_data_f32_nhwgc_n256k128c256_y3_h56_s2_p1",
    "bwd_weight_bf16_nhwgc_n256k64c256_y1_h56",
    "fwd_i8_i8_i8_nhwgc_n256k256c64_y1_h56",
    "fwd_f8ocp_nhwgc_n256k256c64_y1_h56",
    "bwd_data_f16_nhwgc_n256k256c64_y1_h56_inplace",
    "gemm_f16_rcr_b1m802816n256k64",
    "gemm_f32_rcr_b1m6400000n16k16",
    "reduction_f32_o12500000l4i8_sum",
)

Injury = Callable[[Problem, np.ndarray[Any, Any], int], None]


def one_cell(problem: Problem, bits: np.ndarray[Any, Any], poison: int) -> None:
    bits[tuple(length // 2 for length in bits.shape)] ^= 1


def a_third(problem: Problem, bits: np.ndarray[Any, Any], poison: int) -> None:
    draw = np.random.default_rng(2)
    for part in bits.reshape(-1, *bits.shape[2:]) if bits.flags.c_contiguous else bits[0]:
        part ^= (draw.integers(0, 256, part.shape, np.uint8) < 77).astype(bits.dtype)


def every_cell(problem: Problem, bits: np.ndarray[Any, Any], poison: int) -> None:
    bits ^= bits.dtype.type(1)


def zeroed(problem: Problem, bits: np.ndarray[Any, Any], poison: int) -> None:
    bits[...] = 0


def poisoned(problem: Problem, bits: np.ndarray[Any, Any], poison: int) -> None:
    bits[...] = poison


def shifted(problem: Problem, bits: np.ndarray[Any, Any], poison: int) -> None:
    axis = problem.operation.diagnostics.channel_axis(problem)
    bits[...] = np.roll(bits, 1, axis)


def half_zero(problem: Problem, bits: np.ndarray[Any, Any], poison: int) -> None:
    bits[..., ::2] = 0  # of bwd_data with stride 2: whole sub-GEMMs


def half_group(problem: Problem, bits: np.ndarray[Any, Any], poison: int) -> None:
    half = bits.shape[1] // 2
    bits[:, :half] = bits[:, half : 2 * half].copy()


INJURIES: dict[str, Injury] = {
    "one": one_cell,
    "third": a_third,
    "every": every_cell,
    "zero": zeroed,
    "poison": poisoned,
    "shifted": shifted,
    "half": half_zero,
    "images": half_group,
}

PROBES = ("probe", "probe 1")
"""A third of the cells wrong, on one-hot data; of which operand, the seed decides."""


class Clock:
    """Seconds of this process by part; the slow parts are printed at once."""

    def __init__(self, least: float) -> None:
        self.least = least
        self.total = 0.0

    @contextmanager
    def part(self, name: str) -> Iterator[None]:
        begun = process_time()
        yield
        took = process_time() - begun
        self.total += took
        if took >= self.least:
            print(f"    {took:7.2f} s {name}", flush=True)


def drawn(problem: Problem) -> tuple[dict[str, HostTensor], HostTensor]:
    """Operands and a reference of small integers, in their layouts."""
    draw = np.random.default_rng(1)
    tensors = {name: HostTensor.empty(tensor) for name, tensor in problem.tensors.items()}
    for name, host in tensors.items():
        bound = 3 if name != problem.result else min(100, host.tensor.dtype.exact_integer - 1)
        host.storage[...] = draw.integers(-bound, bound + 1, host.storage.shape, np.int8).astype(host.storage.dtype)
    return tensors, tensors.pop(problem.result)


def one_hot(problem: Problem, seed: int) -> dict[str, HostTensor]:
    accumulation = Accumulation(problem.tensors[problem.result].dtype)
    return make_inputs(problem, plan_fill(problem, accumulation, "probe", seed))


def explain(clock: Clock, problem: Problem, inputs: dict[str, HostTensor], ours: HostTensor, right: HostTensor) -> str:
    poison = poison_bits(ours.tensor.dtype)
    with clock.part("comparison"):
        comparison = compare(ours.logical, right.logical)
    if comparison.equal:
        return "right"
    with clock.part("scene"):
        logical = {name: host.logical for name, host in inputs.items()}
        scene = Scene.thinned(
            problem, ours.logical, right.logical, poison=poison, inputs=logical, tile=(64, 64, 32), outside=None
        )
        _ = scene.count
    for rule in engine._rules(scene):
        with clock.part(rule.__name__):
            try:
                with np.errstate(all="ignore"):
                    rule(scene)
            except Exception as error:
                print(f"    {rule.__name__}: {error!r:.100}")
    before = clock.total
    with clock.part("diagnosis"):
        sentence = diagnose(scene).sentence
    clock.total = before
    with clock.part("largest difference"):
        _ = comparison.largest_difference
    with clock.part("first cells"):
        comparison.rows()
    with clock.part("view"):
        letters = problem.operation.diagnostics.letters(problem, problem.result)
        view_of(comparison.result, comparison.mask, poison, letters, (64, 64, 32))
    return sentence


def measured(case: str, only: str | None, least: float) -> None:
    problem = parse_case_id(case)
    sizes = ", ".join(f"{name} {tensor.elements / 1e6:.0f} M" for name, tensor in problem.tensors.items())
    held = sum(tensor.bytes for tensor in problem.tensors.values()) + problem.tensors[problem.result].bytes
    print(f"{case_id(problem)}: {sizes}; {held / 2**20:.0f} MiB", flush=True)
    inputs, right = drawn(problem)
    names = [only] if only else [*INJURIES, *PROBES]
    ours = HostTensor(right.tensor, right.storage.copy())
    for name in names:
        if name in PROBES:
            if problem.operation.numerics.form(problem) is None:
                continue
            inputs = one_hot(problem, PROBES.index(name))
        ours.storage[...] = right.storage
        INJURIES.get(name, a_third)(problem, ours.bits, poison_bits(right.tensor.dtype))
        clock = Clock(least)
        tracemalloc.start()
        sentence = explain(clock, problem, inputs, ours, right)
        most = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        print(f"  {name:8} {clock.total:7.2f} s, {most / 2**20:5.0f} MiB more: {sentence[:110]}", flush=True)
    if not only:
        clock = Clock(least)
        with TemporaryDirectory() as folder, clock.part("dump"):
            Dump(Path(folder))("result", ours)
        print(f"  dump     {clock.total:7.2f} s", flush=True)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("cases", nargs="*", metavar="CASE", default=CASES)
    parser.add_argument("--injury", choices=[*INJURIES, *PROBES])
    parser.add_argument("--least", type=float, default=1.0, metavar="S")
    arguments = parser.parse_args()
    for case in arguments.cases:
        measured(case, arguments.injury, arguments.least)
    return 0


if __name__ == "__main__":
    sys.exit(main())
