"""A right submission as compiled device code: ``nvcc -cubin`` of the plain functions in ../../softmax_source."""

from bitgate.kernel import DeviceSource, Instance, KernelFamily, KernelLaunch, Refusal
from bitgate.operation import F32_ACCUMULATION


def supports(problem, instance, options):
    if any(tensor.has_gaps for tensor in problem.tensors.values()):
        return Refusal("plain", "rows without padding")
    return None


def launches(problem, instance, options):
    rows, columns = problem.tensors["x0"].lengths
    yield KernelLaunch("_Z7softmaxPKfPfii", grid=-(-rows // 64), block=64, args=("x0", "y0", rows, columns))


FAMILY = KernelFamily(
    name="mine",
    operations=("task_softmax",),
    sources=("softmax.cubin",),
    source=DeviceSource(kernels=("_Z7softmaxPKfPfii",), launches=launches),
    platforms=("nvidia",),
    instances=(Instance("f32", "softmax", ("f32",), (), (0,), F32_ACCUMULATION),),
    supports=supports,
)
