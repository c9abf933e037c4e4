"""Operations on the rows of a matrix: softmax, layernorm and rmsnorm."""

from bitgate.ops.rows.norm import LayerNorm, RmsNorm
from bitgate.ops.rows.softmax import Softmax

OPERATIONS = (Softmax(), LayerNorm(), RmsNorm())

__all__ = ["OPERATIONS", "LayerNorm", "RmsNorm", "Softmax"]
