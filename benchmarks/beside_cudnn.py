"""bitgate's convolutions beside cuDNN's on ResNet-50's layers and a large one: ``python benchmarks/beside_cudnn.py``.

Of each layer, pass and type every instance that takes it is held against cuDNN's bits on integers, then timed; the
fastest one runs interleaved with cuDNN (torch.backends.cudnn.benchmark, channels_last), each as a CUDA graph of several
calls between two events, so that only the device's time counts. Prints TFLOP/s of both and the ratio, and at the end
geometric means and minima. Ends with 1 if an instance gives wrong bits. Needs torch and an NVIDIA GPU.
"""

from __future__ import annotations

import argparse
import json
import math
import sys
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from fnmatch import fnmatch
from pathlib import Path
from statistics import geometric_mean, median
from typing import Any

import torch

from bitgate.core.errors import UsageError
from bitgate.kernel.declaration import Instance
from bitgate.kernel.library import KernelLibrary
from bitgate.model import parse_case_id
from bitgate.verify.session import Session

Layer = tuple[int, int, int, int, int, int]
"""K, C, filter, input, stride, pad: as many on both axes."""

# The distinct convolutions of ResNet-50 (v1.5: the stride is on the 3x3), from the input to the last block.
RESNET50: tuple[Layer, ...] = (
    (64, 3, 7, 224, 2, 3),
    (64, 64, 1, 56, 1, 0), (64, 64, 3, 56, 1, 1), (256, 64, 1, 56, 1, 0), (64, 256, 1, 56, 1, 0),
    (128, 256, 1, 56, 1, 0), (128, 128, 3, 56, 2, 1), (512, 128, 1, 28, 1, 0), (512, 256, 1, 56, 2, 0),
    (128, 512, 1, 28, 1, 0), (128, 128, 3, 28, 1, 1),
    (256, 512, 1, 28, 1, 0), (256, 256, 3, 28, 2, 1), (1024, 256, 1, 14, 1, 0), (1024, 512, 1, 28, 2, 0),
    (256, 1024, 1, 14, 1, 0), (256, 256, 3, 14, 1, 1),
    (512, 1024, 1, 14, 1, 0), (512, 512, 3, 14, 2, 1), (2048, 512, 1, 7, 1, 0), (2048, 1024, 1, 14, 2, 0),
    (512, 2048, 1, 7, 1, 0), (512, 512, 3, 7, 1, 1),
)  # fmt: skip
LARGE: Layer = (256, 256, 3, 100, 1, 1)
LARGE_IMAGES = 32

FAMILIES = {
    "fwd": ("grouped_fwd",),
    "bwd_data": ("grouped_bwd_data", "nongrouped_bwd_data"),
    "bwd_weight": ("grouped_bwd_weight", "bwd_weight_two_stage", "bwd_weight_wavelet"),
}
RESULT = {"fwd": "out", "bwd_data": "in", "bwd_weight": "wei"}
TYPES = {"f16": torch.float16, "bf16": torch.bfloat16}
DENSE_VALUES, SPARSE_SUM = 2, 100.0
CALLS, ROUNDS = 4, 7
SLICES, CLOSE = (2, 3, 4, 8), 1.5
"""Slices of a reduction that are tried of backward weight beside the automatic number, on instances that take at most
so many times as long as the fastest."""


@dataclass(frozen=True)
class Row:
    """Seconds of the fastest instance and of cuDNN, for one layer, pass and type."""

    layer: str
    images: int
    direction: str
    dtype: str
    kernel: str
    ours: float
    cudnn: float
    gflop: float

    @property
    def ratio(self) -> float:
        return self.cudnn / self.ours


class Convolution:
    """A layer's tensors on the device, and cuDNN's way through it. ``terms``: of the longest sum, where integers are
    to be so few that no partial sum is rounded; 0: dense ones, for the clock."""

    def __init__(self, layer: Layer, images: int, dtype: str, terms: int) -> None:
        k, c, f, i, self.stride, self.pad = layer
        o = (i + 2 * self.pad - f) // self.stride + 1
        density = min(1.0, math.sqrt(SPARSE_SUM / terms)) if terms else 1.0
        shapes = {"in": (images, c, i, i), "wei": (k, c, f, f), "out": (images, k, o, o)}
        self.tensors = {name: integers(shape, TYPES[dtype], density) for name, shape in shapes.items()}

    def cudnn(self, direction: str) -> torch.Tensor:
        x, w, dy = self.tensors["in"], self.tensors["wei"], self.tensors["out"]
        stride, pad = [self.stride] * 2, [self.pad] * 2
        if direction == "fwd":
            return torch.nn.functional.conv2d(x, w, None, stride, pad)
        wanted = [direction == "bwd_data", direction == "bwd_weight", False]
        gradients = torch.ops.aten.convolution_backward(dy, x, w, None, stride, pad, [1, 1], False, [0, 0], 1, wanted)
        return gradients[0 if direction == "bwd_data" else 1]


def integers(shape: Sequence[int], dtype: torch.dtype, density: float) -> torch.Tensor:
    """A share ``density`` of them is not zero: -1 or 1, or, all dense, anything within 2."""
    values = torch.randint(-DENSE_VALUES, DENSE_VALUES + 1, shape, device="cuda", dtype=torch.int8)
    if density < 1:
        values = values.sign() * (torch.rand(shape, device="cuda") < density)
    return values.to(dtype).contiguous(memory_format=torch.channels_last)


class Candidates:
    """The instances of our families for a type, built and loaded: of the groups that have any, all at once."""

    def __init__(self, session: Session, directions: Sequence[str], dtypes: Sequence[str], kernels: str) -> None:
        groups = {
            (name, instance.group): session.family(name).only(instance.group)
            for direction in directions
            for name in FAMILIES[direction]
            for instance in session.family(name).instances
            if instance.dtypes[0] in dtypes and any(fnmatch(f"{name}.{instance.name}", g) for g in kernels.split(","))
        }
        session.opened.device.synchronize()
        with ThreadPoolExecutor(8) as pool:
            paths = dict(zip(groups, pool.map(session.opened.builder.family, groups.values()), strict=True))
        self.found: list[tuple[str, KernelLibrary, Instance]] = []
        self.wrong: list[str] = []
        self.shows_each = False
        for (name, group), family in groups.items():
            library = KernelLibrary.load(paths[name, group], family, target=session.target.name)
            self.found += [
                (name, library, instance)
                for instance in family.instances
                if any(fnmatch(f"{name}.{instance.name}", one) for one in kernels.split(","))
            ]

    def calls(self, case: str, tensors: dict[str, torch.Tensor]) -> dict[str, Callable[[], Any]]:
        """Of each instance that takes the case: what starts it on the current stream. Those that move single elements
        count only where no other takes it."""
        problem = parse_case_id(case)
        pointers = {role: tensor.data_ptr() for role, tensor in tensors.items()}
        fitting = [one for one in self.found if one[1].family.supports(problem, one[2], {}) is None]
        vectors = [one for one in fitting if max(one[2].vector or (1,)) > 1]
        return {
            f"{name}.{one.name}": started(library, one, problem, pointers) for name, library, one in vectors or fitting
        }


def started(library: KernelLibrary, instance: Instance, problem: Any, pointers: dict[str, int]) -> Callable[[], Any]:
    scratch = torch.empty(library.workspace_size(problem, instance), dtype=torch.uint8, device="cuda")

    def call() -> None:  # keeps the workspace
        workspace = (scratch.data_ptr(), scratch.numel()) if scratch.numel() else (0, 0)
        library.run(problem, instance, {}, pointers, workspace, torch.cuda.current_stream().cuda_stream)

    return call


def graph_of(call: Callable[[], Any]) -> torch.cuda.CUDAGraph:
    """Several calls, warmed up."""
    with torch.cuda.stream(torch.cuda.Stream()):
        call()
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph, capture_error_mode="relaxed"):
        for _ in range(CALLS):
            call()
    graph.replay()
    return graph


def seconds(graph: torch.cuda.CUDAGraph) -> float:
    """Of one call."""
    begin, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
    begin.record()
    graph.replay()
    end.record()
    end.synchronize()
    return float(begin.elapsed_time(end)) / 1e3 / CALLS


def measure(candidates: Candidates, layer: Layer, images: int, direction: str, dtype: str) -> Row | None:
    """None where no instance takes it, or one gives wrong bits: those are noted."""
    k, c, f, i, s, p = layer
    name = f"k{k}c{c}_y{f}x{f}_h{i}x{i}_s{s}x{s}_p{p}x{p}"
    split = "_skauto" * (direction == "bwd_weight")
    case = f"{direction}_{dtype}_nhwgc_g1n{images}{name}{split}"
    gflop = parse_case_id(case).flops / 1e9
    sums = {"fwd": c * f * f, "bwd_data": k * f * f, "bwd_weight": int(gflop * 5e8 / (k * c * f * f))}
    sparse = Convolution(layer, images, dtype, terms=sums[direction])
    expected = sparse.cudnn(direction)
    blank = {**sparse.tensors, RESULT[direction]: torch.full_like(sparse.tensors[RESULT[direction]], 7)}
    right = []
    for kernel, call in candidates.calls(case, blank).items():
        blank[RESULT[direction]].fill_(7)
        call()
        right.append(torch.equal(blank[RESULT[direction]], expected))
        if not right[-1]:
            candidates.wrong.append(f"{kernel}: other bits than cuDNN's: bitgate verify {case} tells which are right")
            print(candidates.wrong[-1], flush=True)
    del sparse, expected, blank
    if not right or not all(right):
        return None
    dense = Convolution(layer, images, dtype, terms=0)
    own = {**dense.tensors, RESULT[direction]: torch.empty_like(dense.tensors[RESULT[direction]])}
    graphs = {kernel: graph_of(call) for kernel, call in candidates.calls(case, own).items()}
    each = {kernel: min(seconds(graph) for _ in range(3)) for kernel, graph in graphs.items()}
    if split:
        least = min(each.values())
        close = [kernel for kernel, time in each.items() if time < CLOSE * least]
        for slices in SLICES:
            calls = candidates.calls(case.replace(split, f"_sk{slices}"), own)
            more = {f"{kernel} sk{slices}": graph_of(calls[kernel]) for kernel in close}
            graphs |= more
            each |= {kernel: min(seconds(graph) for _ in range(3)) for kernel, graph in more.items()}
    if candidates.shows_each:
        for kernel, time in sorted(each.items(), key=lambda pair: pair[1]):
            print(f"    {gflop / time / 1e3:7.1f}  {kernel}")
    best = min(each, key=lambda kernel: each[kernel])
    theirs = graph_of(lambda: dense.cudnn(direction))
    turns = [(seconds(graphs[best]), seconds(theirs)) for _ in range(ROUNDS)]
    ours, cudnn = (median(side) for side in zip(*turns, strict=True))
    return Row(name, images, direction, dtype, best, ours, cudnn, gflop)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kernel", default="*", help="globs over family.instance, with commas between")
    parser.add_argument("--passes", default=",".join(FAMILIES))
    parser.add_argument("--dtypes", default=",".join(TYPES))
    parser.add_argument("--images", default="32,256", help="batches of ResNet-50")
    parser.add_argument("--layers", default="*", help="glob over layers; large: the large one alone")
    parser.add_argument("--each", action="store_true", help="print TFLOP/s of each instance")
    parser.add_argument("--out", type=Path, help="file for the rows, as JSON")
    options = parser.parse_args()
    torch.backends.cudnn.benchmark = True
    passes, dtypes = options.passes.split(","), options.dtypes.split(",")
    session = Session()
    if session.target.platform != "nvidia":
        raise UsageError("cuDNN runs on NVIDIA GPUs: none is present")
    candidates = Candidates(session, passes, dtypes, options.kernel)
    candidates.shows_each = options.each
    print(f"{session.target.name}: {session.target.device_name}; cuDNN {torch.backends.cudnn.version()}")
    layers = [(layer, int(images)) for images in options.images.split(",") for layer in RESNET50]
    rows = []
    for direction in passes:
        for dtype in dtypes:
            for layer, images in [(LARGE, LARGE_IMAGES), *(layers if options.layers != "large" else [])]:
                row = measure(candidates, layer, images, direction, dtype)
                if row is None:
                    continue
                rows.append(row)
                speeds = f"{row.gflop / row.ours / 1e3:7.1f} {row.gflop / row.cudnn / 1e3:7.1f} {row.ratio:6.2f}"
                print(f"{direction:10} {dtype:4} n{images:<3} {row.layer:36} {speeds}  {row.kernel}", flush=True)
    print(f"\n{'':15} {'large':>6} {'geometric mean':>15} {'least':>6}   of cuDNN's speed")
    for direction in passes:
        for dtype in dtypes:
            ratios = [row.ratio for row in rows if (row.direction, row.dtype) == (direction, dtype)]
            if ratios:
                rest = ratios[1:] or ratios
                print(f"{direction:10} {dtype:4} {ratios[0]:6.2f} {geometric_mean(rest):15.2f} {min(rest):6.2f}")
    if options.out:
        options.out.write_text(json.dumps([asdict(row) for row in rows], indent=1) + "\n")
    if candidates.wrong:
        sys.exit(1)


if __name__ == "__main__":
    try:
        main()
    except UsageError as error:
        print(error, file=sys.stderr)
        sys.exit(2)
