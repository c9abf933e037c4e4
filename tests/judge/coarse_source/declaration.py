"""A submission to gemm that sums in f16, and states that this is its contract, and whatever else would excuse it."""

from bitgate.kernel import DeviceSource, Instance, KernelFamily, KernelLaunch, Refusal
from bitgate.operation import DTYPES, Accumulation


def supports(problem, instance, options):
    if problem.attributes or problem.batch != 1 or any(tensor.has_gaps for tensor in problem.tensors.values()):
        return Refusal("plain", "one product of matrices without padding")
    return None


def launches(problem, instance, options):
    m, n, k = problem.sizes
    yield KernelLaunch("gemm", grid=(-(-n // 16), -(-m // 16)), block=(16, 16), args=("in", "wei", "out", m, n, k))


FAMILY = KernelFamily(
    name="my_gemm",
    operations=("gemm",),
    sources=("gemm.cu",),
    source=DeviceSource(kernels=("gemm",), launches=launches),
    platforms=("host", "amd", "nvidia"),
    instances=(Instance("f16", "gemm", ("f16",), ("rcr",), (0,), Accumulation(DTYPES["f16"])),),
    supports=supports,
    changes=("threads", "descriptors", "subprocesses", "device_memory"),
    is_probe=True,
)
