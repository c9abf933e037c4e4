"""Host memory of one tensor: what stands in ``bitgate.operation.host_tensor``, under the name that most know it by."""

from bitgate.operation.host_tensor import GAP_PATTERN, HostTensor, has_gaps

__all__ = ["GAP_PATTERN", "HostTensor", "has_gaps"]
