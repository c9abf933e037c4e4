"""What an operation is: the types that problems, kernels, references and reports speak in. Pure; no GPU, no files."""

from bitgate.operation.accumulation import F32_ACCUMULATION, Accumulation
from bitgate.operation.contraction import Contraction
from bitgate.operation.dtype import DTYPES, Dtype, DtypeSet, dtype_named
from bitgate.operation.elementwise import ELEMENTWISE, OPERAND_ELEMENTWISE, Elementwise, elementwise_named
from bitgate.operation.exactness import Exactness
from bitgate.operation.fill import Fill
from bitgate.operation.form import Form
from bitgate.operation.host_tensor import HostTensor
from bitgate.operation.operation import Operation
from bitgate.operation.problem import MAX_LENGTH, Problem, ProblemError
from bitgate.operation.registry import (
    case_id,
    check_numbers,
    foreign_line,
    human,
    operation_called,
    operations,
    parse_case_id,
)
from bitgate.operation.tensor import GAP, Tensor, element_space

__all__ = [
    "DTYPES",
    "ELEMENTWISE",
    "F32_ACCUMULATION",
    "GAP",
    "MAX_LENGTH",
    "OPERAND_ELEMENTWISE",
    "Accumulation",
    "Contraction",
    "Dtype",
    "DtypeSet",
    "Elementwise",
    "Exactness",
    "Fill",
    "Form",
    "HostTensor",
    "Operation",
    "Problem",
    "ProblemError",
    "Tensor",
    "case_id",
    "check_numbers",
    "dtype_named",
    "element_space",
    "elementwise_named",
    "foreign_line",
    "human",
    "operation_called",
    "operations",
    "parse_case_id",
]
