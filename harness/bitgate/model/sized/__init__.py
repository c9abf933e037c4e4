"""An operation stated by its sizes and tensors alone: what a user writes in one file. All else follows."""

from bitgate.model.sized.operation import Sized
from bitgate.model.sized.problem import SizedProblem, StatedTensor, read, written

__all__ = ["Sized", "SizedProblem", "StatedTensor", "read", "written"]
