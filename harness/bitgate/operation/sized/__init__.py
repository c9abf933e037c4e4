"""An operation stated by its sizes and tensors alone: what an owner writes in one file. All else follows."""

from bitgate.operation.sized.operation import Sized
from bitgate.operation.sized.problem import SizedProblem
from bitgate.operation.sized.stated_tensor import StatedTensor, read, written

__all__ = ["Sized", "SizedProblem", "StatedTensor", "read", "written"]
