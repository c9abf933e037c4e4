"""The types that problems, kernels, references and reports share. Pure: no GPU and no files."""

from bitgate.model.contraction import Contraction
from bitgate.model.dtype import DTYPES, Dtype, DtypeSet, dtype_named
from bitgate.model.elementwise import ELEMENTWISE, OPERAND_ELEMENTWISE, Elementwise, elementwise_named
from bitgate.model.fill import Fill
from bitgate.model.form import Form
from bitgate.model.host_tensor import HostTensor
from bitgate.model.numerics import F32_ACCUMULATION, Accumulation, Numerics
from bitgate.model.operation import Operation
from bitgate.model.problem import MAX_LENGTH, Problem, ProblemError
from bitgate.model.registry import (
    case_id,
    check_numbers,
    foreign_line,
    human,
    operation_called,
    operations,
    parse_case_id,
)
from bitgate.model.tensor import GAP, Tensor, element_space

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
    "Fill",
    "Form",
    "HostTensor",
    "Numerics",
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
