"""cuDNN's convolutions as kernels, to be verified and timed like any other: through NVIDIA's Python front end, each
launch a CUDA graph. The plan is the fastest of the heuristics' first few that sum in f32 all the way.

pip install nvidia-cudnn-frontend torch
bitgate bench --sweep resnet50 --only 'fwd*' --kernel 'grouped_fwd.*' --compare 'cudnn.*' --queued \
    --load examples/cudnn/declaration.py
"""

from __future__ import annotations

import ctypes
import hashlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from bitgate.kernel import (
    Capability,
    DispatchRecord,
    Instance,
    KernelFailed,
    KernelFamily,
    LibraryState,
    Refusal,
    UsageError,
)
from bitgate.operation import F32_ACCUMULATION, ConvProblem

DTYPES = {"f16": "HALF", "bf16": "BFLOAT16"}
PLANS_TRIED = 8
ROUNDS, RUNS = 3, 10
OTHER_SUMS = ("REDUCED_PRECISION_REDUCTION", "DOWN_CONVERT_INPUTS", "FFT", "WINOGRAD")
"""What cuDNN notes of plans whose partial sums are not those of f32 products: another result is to be expected."""


def supports(problem: ConvProblem, instance: Instance, options: Mapping[str, str]) -> Refusal | None:
    """2D, one group, no element-wise operation."""
    if problem.ndim != 2 or problem.g != 1:
        return Refusal("ndim", "only 2D convolutions of one group are described to cuDNN here")
    if {problem.op.name, problem.in_op.name, problem.wei_op.name} != {"pass"}:
        return Refusal("op", "no element-wise operations")
    return None


class Plan:
    """One problem on one set of buffers, captured."""

    def __init__(self, problem: ConvProblem, buffers: Mapping[str, int], dtype: str) -> None:
        import cudnn

        self._graph, tensors = _described(problem, DTYPES[dtype])
        self._pack = {tensors[role]: buffers[role] for role in tensors}
        self._handle = cudnn.create_handle()
        best = min((self._seconds(index), index) for index in self._built())
        self._captured = self._capture(best[1], 1)

    def launch(self, stream: int) -> None:
        import torch

        with torch.cuda.stream(torch.cuda.ExternalStream(stream)):
            self._captured.replay()

    def _built(self) -> list[int]:
        """Indices of the first plans that build, with one workspace for all of them."""
        import cudnn
        import torch

        graph = self._graph
        graph.validate()
        graph.build_operation_graph()
        graph.create_execution_plans([cudnn.heur_mode.A, cudnn.heur_mode.FALLBACK])
        notes = cudnn.numerical_note
        graph.deselect_numeric_notes([getattr(notes, name) for name in dir(notes) if name.startswith(OTHER_SUMS)])
        found: list[int] = []
        for index in range(graph.get_execution_plan_count()):
            if len(found) == PLANS_TRIED:
                break
            try:
                graph.build_plan_at_index(index)
                found.append(index)
            except Exception:  # one that this device does not run, or that sums otherwise
                continue
        if not found:
            raise KernelFailed(None, "cuDNN has no plan for this problem")
        size = max(graph.get_workspace_size_plan_at_index(index) for index in found)
        self._workspace = torch.empty(max(1, size), dtype=torch.uint8, device="cuda")
        return found

    def _run(self, index: int) -> None:
        import cudnn
        import torch

        cudnn.set_stream(self._handle, torch.cuda.current_stream().cuda_stream)
        self._graph.execute_plan_at_index(self._pack, self._workspace.data_ptr(), index, self._handle)

    def _capture(self, index: int, runs: int) -> Any:
        """Return a graph of ``runs`` runs in a row."""
        import torch

        graph = torch.cuda.CUDAGraph(keep_graph=False)
        with torch.cuda.graph(graph, capture_error_mode="relaxed"):
            for _ in range(runs):
                self._run(index)
        graph.replay()  # the first one of a graph takes longer
        return graph

    def _seconds(self, index: int) -> float:
        """Of some runs, the device's time alone."""
        import torch

        graph, seconds = self._capture(index, RUNS), []
        for _ in range(ROUNDS):
            begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
            begin.record()
            graph.replay()
            end.record()
            end.synchronize()
            seconds.append(begin.elapsed_time(end))
        return float(min(seconds))


def _described(problem: ConvProblem, dtype: str) -> tuple[Any, dict[str, Any]]:
    """cuDNN's graph, and by role what it calls the tensors."""
    import cudnn

    of_data, f32 = getattr(cudnn.data_type, dtype), cudnn.data_type.FLOAT
    graph = cudnn.pygraph(io_data_type=of_data, intermediate_data_type=f32, compute_data_type=f32)
    window: dict[str, Any] = {
        "pre_padding": list(problem.left_pad),
        "post_padding": list(problem.right_pad),
        "stride": list(problem.stride),
        "dilation": list(problem.dilation),
    }
    shapes = {
        role: {"dim": list(tensor.lengths[1:]), "stride": list(tensor.strides[1:])}
        for role, tensor in problem.tensors.items()
    }
    tensors = {
        role: graph.tensor(name=role, data_type=of_data, **shape)
        for role, shape in shapes.items()
        if role != problem.result
    }
    if problem.result == "out":
        result = graph.conv_fprop(image=tensors["in"], weight=tensors["wei"], **window)
    elif problem.result == "in":
        result = graph.conv_dgrad(loss=tensors["out"], filter=tensors["wei"], **window)
    else:
        result = graph.conv_wgrad(image=tensors["in"], loss=tensors["out"], **window)
    shape = shapes[problem.result]
    result.set_output(True).set_data_type(of_data).set_dim(shape["dim"]).set_stride(shape["stride"])
    return graph, {**tensors, problem.result: result}


class CudnnRunner:
    """It has no launch log and no threads to order; its workspace is its own."""

    capabilities: frozenset[Capability] = frozenset()

    def __init__(self, family: KernelFamily, instance: Instance) -> None:
        try:
            import cudnn
            import torch
        except ImportError as error:
            raise UsageError(f"cuDNN's kernels need {error.name}: pip install nvidia-cudnn-frontend torch") from None

        torch.cuda.init()
        torch.cuda.synchronize()
        self.family, self.instance, self.conduct = family, instance, LibraryState()
        self._versions = f"cudnn {cudnn.backend_version()}, torch {torch.__version__}"
        self._plans: dict[tuple[Any, ...], Plan] = {}

    @property
    def content_key(self) -> str:
        return hashlib.sha256(f"{Path(__file__).read_text()} {self._versions}".encode()).hexdigest()[:16]

    def supports(self, problem: Any) -> Refusal | None:
        raise AssertionError("never asked: it states nothing of its own")

    def workspace(self, problem: Any) -> int:
        return 0

    def launch(
        self, problem: ConvProblem, buffers: Mapping[str, int], workspace: tuple[int, int], stream: int
    ) -> DispatchRecord:
        place = (id(problem), *buffers.values())
        try:
            if place not in self._plans:
                self._plans[place] = Plan(problem, buffers, self.instance.dtypes[0])
            self._plans[place].launch(stream)
        except (RuntimeError, ValueError, ctypes.ArgumentError) as error:
            raise KernelFailed(None, f"cuDNN: {type(error).__name__}: {error}") from None
        return DispatchRecord("cudnn", 1, False, 0, self.instance.name, {}, (), (), ())


FAMILY = KernelFamily(
    name="cudnn",
    operations=("fwd", "bwd_data", "bwd_weight"),
    platforms=("nvidia",),
    instances=tuple(
        Instance(dtype, "cudnn", (dtype,), ("nhwgc",), (2,), F32_ACCUMULATION, vector=(1, 1, 1)) for dtype in DTYPES
    ),
    supports=supports,
    opens=lambda family, instance, options: CudnnRunner(family, instance),
    changes=("threads", "descriptors", "subprocesses"),
)
