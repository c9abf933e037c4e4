"""A submission to the task softmax: a plain function in CUDA, and what is launched of it."""

from bitgate.kernel import DeviceSource, Instance, KernelFamily, KernelLaunch, Refusal
from bitgate.operation import F32_ACCUMULATION


def supports(problem, instance, options):
    if any(tensor.has_gaps for tensor in problem.tensors.values()):
        return Refusal("plain", "rows without padding")
    return None


def launches(problem, instance, options):
    rows, columns = problem.tensors["x0"].lengths
    yield KernelLaunch("softmax", grid=-(-rows // 64), block=64, args=("x0", "y0", rows, columns))


FAMILY = KernelFamily(
    name="mine",
    operations=("task_softmax",),
    sources=("softmax.cu",),
    source=DeviceSource(kernels=("softmax",), launches=launches),
    platforms=("host", "amd", "nvidia"),
    instances=(Instance("f32", "softmax", ("f32",), (), (0,), F32_ACCUMULATION),),
    supports=supports,
)
