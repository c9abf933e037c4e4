"""A kernel of the user's that gets device tensors by ``__cuda_array_interface__``, here read by torch."""

# mypy: ignore-errors

import torch

from bitgate.kernel import Instance, KernelFamily, PythonKernel
from bitgate.operation import F32_ACCUMULATION


def matmul(problem, tensors):
    stream = torch.cuda.ExternalStream(tensors["out"].stream)
    with torch.cuda.stream(stream):
        a, b, c = (torch.as_tensor(tensors[role], device="cuda") for role in ("in", "wei", "out"))
        c.copy_(torch.bmm(a, b.mT))


FAMILY = KernelFamily(
    name="device_matmul",
    operations=("gemm",),
    platforms=("nvidia",),
    instances=(Instance("f32", "matmul", ("f32", "f16"), ("rcr",), (0,), F32_ACCUMULATION),),
    opens=PythonKernel(matmul, "device"),
    changes=("threads", "descriptors", "device_memory", "signal_handlers", "alternate_stack"),
)
