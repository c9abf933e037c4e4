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
ATTENTION = {
    "attention": ("q", "k", "v", "lengths", "o"),
    "attention_bwd": ("q", "k", "v", "do", "lengths", "dq", "dk", "dv"),
}
"""The tensors of one call of scaled_dot_product_attention, or of its gradient."""
BACKENDS = {"flash": "FLASH_ATTENTION", "efficient": "EFFICIENT_ATTENTION", "cudnn": "CUDNN_ATTENTION", "math": "MATH"}

OPTIONS = (
    Option("vendor", ("on", "off"), "on", "Compute by oneDNN and cuDNN, or by PyTorch's own kernels."),
    Option("tf32", ("off", "on"), "off", "Round f32 operands to TF32 on a GPU."),
    Option("deterministic", ("off", "on"), "off", "Take cuDNN's deterministic algorithms alone."),
    Option("backend", ("any", *BACKENDS), "any", "Compute attention by this implementation alone."),
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
    return why_no_attention(problem, options.get("backend", "any")) if problem.operation.name in ATTENTION else None


def why_no_attention(problem: Problem, backend: str) -> Refusal | None:
    """Refuse what PyTorch's documents leave out of a backend: each raises RuntimeError for it."""
    sizes: Any = getattr(problem, "sizes", None)
    if more := ", ".join(problem.tensors.keys() - {*ATTENTION[problem.operation.name]}):
        return Refusal("tensors", f"scaled_dot_product_attention has no {more}")
    if problem.operation.name == "attention_bwd" and sizes.kv != sizes.h:
        return Refusal("kv", "PyTorch rounds the gradient of each query head before they are summed")
    bits = problem.tensors["q"].dtype.bytes * 8
    if backend in ("flash", "cudnn") and bits > 16:
        return Refusal("dtype", f"{backend} takes f16 and bf16")
    if backend == "flash" and is_masked(sizes):
        return Refusal("mask", "flash takes no mask but the causal one of as many queries as keys")
    if backend == "efficient" and sizes.d * bits % 128:
        return Refusal("d", "efficient takes rows of whole 16 bytes")
    if backend == "cudnn" and (sizes.d % 8 or sizes.d > 128):
        return Refusal("d", "cudnn takes multiples of 8 up to 128")
    return None


def is_masked(sizes: Any) -> bool:
    """Whether PyTorch needs a tensor for the mask: its own causal one begins at the first key."""
    return sizes.padded or sizes.mask.value == "window" or (sizes.mask.value == "causal" and sizes.s != sizes.t)


def attention(problem: Any, tensors: Mapping[str, Any]) -> Any:
    import torch

    sizes, q, k, v = problem.sizes, tensors["q"], tensors["k"], tensors["v"]
    k, v = (one.repeat_interleave(sizes.h // sizes.kv, dim=1) if sizes.h != sizes.kv else one for one in (k, v))
    mask = None
    if is_masked(sizes):
        mask = torch.ones(sizes.b, 1, sizes.s, sizes.t, dtype=torch.bool, device=q.device)
        if sizes.mask.value != "full":
            mask = mask.tril(sizes.t - sizes.s)
        if sizes.mask.value == "window":
            mask = mask.triu(sizes.t - sizes.s - sizes.w + 1)
        if sizes.padded:
            mask = mask & (torch.arange(sizes.t, device=q.device) < tensors["lengths"][:, None, None, None])
    is_causal = mask is None and sizes.mask.value == "causal"
    return torch.nn.functional.scaled_dot_product_attention(q, k, v, attn_mask=mask, is_causal=is_causal)


def attention_gradients(problem: Any, tensors: Mapping[str, Any]) -> Any:
    import torch

    with torch.enable_grad():
        leaves = {role: tensors[role].detach().requires_grad_() for role in ("q", "k", "v")}
        found = torch.autograd.grad(attention(problem, {**tensors, **leaves}), list(leaves.values()), tensors["do"])
    return tuple(found)


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
    "attention": attention,
    "attention_bwd": attention_gradients,
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
        backend: Any = nullcontext()
        if asked["backend"] != "any":
            of_torch = torch.nn.attention
            backend = of_torch.sdpa_kernel(getattr(of_torch.SDPBackend, BACKENDS[asked["backend"]]))
        with torch.no_grad(), onednn, cudnn, backend:
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
        *instances("attention", ("attention",), (), (0,)),
        *instances("attention_bwd", ("attention_bwd",), (), (0,)),
    ),
    supports=supports,
    opens=opens,
    options=OPTIONS,
    changes=("threads", "descriptors", "device_memory", "signal_handlers", "alternate_stack"),
)
