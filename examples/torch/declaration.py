"""PyTorch's own operations as kernels: oneDNN's on the CPU, cuDNN's and cuBLAS's on an NVIDIA GPU.

They are as PyTorch ships them, but for TF32, which is off. Options separate a library's mistakes from PyTorch's own:
``--option vendor=off`` leaves out oneDNN and cuDNN, ``tf32=on`` rounds operands on a GPU, ``deterministic=on`` takes
algorithms without atomics.

pip install 'bitgate[torch]'
bitgate run --load examples/torch --tier smoke --target host
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import nullcontext
from typing import Any

from bitgate.kernel import Instance, KernelFamily, Option, PythonKernel, Refusal
from bitgate.operation import F32_ACCUMULATION, GEMM_LAYOUTS, INPUT_LAYOUTS, ConvProblem, Problem

DTYPES = ("f32", "f16", "bf16")
EPSILON = 2.0**-16
"""As bitgate's norms add it."""
PASSES = ("fwd", "bwd_data", "bwd_weight")


OPTIONS = (
    Option("vendor", ("on", "off"), "on", "Compute by oneDNN and cuDNN, or by PyTorch's own kernels."),
    Option("tf32", ("off", "on"), "off", "Round f32 operands to TF32 on a GPU."),
    Option("deterministic", ("off", "on"), "off", "Take cuDNN's deterministic algorithms alone."),
)


def supports(problem: Problem, instance: Instance, options: Mapping[str, str]) -> Refusal | None:
    """Refuse what no single call of PyTorch computes: element-wise operations, splits, rows that are not full."""
    own = {"stride", "dilation", "left_pad", "right_pad"} if problem.operation.name in PASSES else set()
    stated = problem.attributes if problem.operation.name in (*PASSES, "gemm") else {}
    if more := ", ".join(stated.keys() - own):
        return Refusal("attributes", f"one call of PyTorch does not compute {more}")
    sizes: Any = getattr(problem, "sizes", None)
    if problem.operation.name == "softmax" and sizes.mask.value != "full":
        return Refusal("mask", "softmax of PyTorch has no mask")
    if problem.operation.name == "rmsnorm" and sizes.stats:
        return Refusal("stats", "rms_norm of PyTorch returns no moments")
    return None


def matmul(problem: Any, tensors: Mapping[str, Any]) -> Any:
    import torch

    return torch.bmm(tensors["in"], tensors["wei"].mT)


def convolution(problem: ConvProblem, tensors: Mapping[str, Any]) -> Any:
    """Groups are channels next to each other; what is padded on one side alone is padded before the call."""
    import torch

    groups, images, inputs, outputs, window = problem.g, problem.n, problem.c, problem.k, problem.filter
    is_even = problem.left_pad == problem.right_pad
    pad = list(problem.left_pad) if is_even else [0] * problem.ndim
    around = [] if is_even else [n for pair in zip(problem.left_pad, problem.right_pad, strict=True) for n in pair]
    around = [n for axis in range(problem.ndim - 1, -1, -1) for n in around[2 * axis : 2 * axis + 2]]  # the last first
    layers = {"in": inputs, "out": outputs}

    def as_images(role: str) -> Any:  # (g, n, c, ...) as (n, g c, ...)
        cells = tensors[role].transpose(0, 1)
        return cells.reshape(images, groups * layers[role], *cells.shape[3:])

    def by_group(cells: Any, role: str) -> Any:
        return cells.reshape(images, groups, layers[role], *cells.shape[2:]).transpose(0, 1)

    def padded(cells: Any) -> Any:
        return torch.nn.functional.pad(cells, around) if around else cells

    weights = None if problem.result == "wei" else tensors["wei"].reshape(groups * outputs, inputs, *window)
    stated = [list(problem.stride), pad, list(problem.dilation)]
    if problem.result == "out":
        found = torch.convolution(padded(as_images("in")), weights, None, *stated, False, [0] * problem.ndim, groups)
        return by_group(found, "out")
    if problem.result == "in":
        shape = [n + sum(around[-2 * axis - 2 : len(around) - 2 * axis]) for axis, n in enumerate(problem.input)]
        images_in = tensors["out"].new_empty((images, groups * inputs, *shape))
        mask = [True, False, False]
    else:
        images_in = padded(as_images("in"))
        weights = tensors["wei"].new_empty((groups * outputs, inputs, *window))
        mask = [False, True, False]
    gradients = torch.ops.aten.convolution_backward(
        as_images("out"), images_in, weights, None, *stated, False, [0] * problem.ndim, groups, mask
    )
    if problem.result == "wei":
        return gradients[1].reshape(groups, outputs, inputs, *window)
    found = by_group(gradients[0], "in")
    for axis, (begin, length) in enumerate(zip(problem.left_pad, problem.input, strict=True)):
        found = found if is_even else found.narrow(3 + axis, begin, length)
    return found


def softmax(problem: Any, tensors: Mapping[str, Any]) -> Any:
    import torch

    return torch.softmax(tensors["x"], -1)


def layer_norm(problem: Any, tensors: Mapping[str, Any]) -> Any:
    import torch

    x = tensors["x"]
    found = torch.native_layer_norm(x, (x.shape[-1],), tensors.get("gamma"), tensors.get("beta"), EPSILON)
    return tuple(
        one.reshape(tensors[role].shape).to(tensors[role].dtype)
        for role, one in zip(problem.outputs, found, strict=False)
    )


def rms_norm(problem: Any, tensors: Mapping[str, Any]) -> Any:
    import torch

    x = tensors["x"]
    return torch.nn.functional.rms_norm(x, (x.shape[-1],), tensors.get("gamma"), EPSILON)


FUNCTIONS = {
    **dict.fromkeys(PASSES, convolution),
    "gemm": matmul,
    "softmax": softmax,
    "layernorm": layer_norm,
    "rmsnorm": rms_norm,
}


def opens(family: KernelFamily, instance: Instance, options: Mapping[str, str]) -> Any:
    """The function of an instance, with what its options ask of PyTorch."""
    import torch

    asked = {option.name: option.production for option in OPTIONS} | dict(options)
    vendor, tf32, deterministic = (asked[name] == "on" for name in ("vendor", "tf32", "deterministic"))

    def compute(problem: Problem, tensors: Mapping[str, Any]) -> Any:
        torch.backends.cuda.matmul.allow_tf32 = tf32
        onednn: Any = nullcontext() if vendor else torch.backends.mkldnn.flags(enabled=False)
        cudnn = torch.backends.cudnn.flags(enabled=vendor, deterministic=deterministic, allow_tf32=tf32)
        with torch.no_grad(), onednn, cudnn:
            return FUNCTIONS[problem.operation.name](problem, tensors)

    return PythonKernel(compute, "torch")(family, instance, options)


def instances(name: str, operations: tuple[str, ...], layouts: tuple[str, ...], ndims: tuple[int, ...]) -> Any:
    """One instance for each type."""
    for dtype in DTYPES:
        yield Instance(f"{name}_{dtype}", "torch", (dtype,), layouts, ndims, F32_ACCUMULATION, operations=operations)


FAMILY = KernelFamily(
    name="torch",
    operations=tuple(FUNCTIONS),
    platforms=("host", "amd", "nvidia"),
    instances=(
        *instances("conv", PASSES, tuple(one for every in INPUT_LAYOUTS.values() for one in every), (1, 2, 3)),
        *instances("matmul", ("gemm",), GEMM_LAYOUTS, (0,)),
        *instances("softmax", ("softmax",), (), (0,)),
        *instances("layer_norm", ("layernorm",), (), (0,)),
        *instances("rms_norm", ("rmsnorm",), (), (0,)),
    ),
    supports=supports,
    opens=opens,
    options=OPTIONS,
    changes=("threads", "descriptors", "device_memory", "signal_handlers", "alternate_stack"),
)
