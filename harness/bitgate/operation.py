"""The public names about problems: what an operation, a rule of diagnosis or a declaration of a user's imports.

They are documented in docs/api.md and stable.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from bitgate.core.exports import exports

if TYPE_CHECKING:
    from bitgate.core.errors import UsageError as UsageError
    from bitgate.model import DTYPES as DTYPES
    from bitgate.model import F32_ACCUMULATION as F32_ACCUMULATION
    from bitgate.model import Accumulation as Accumulation
    from bitgate.model import Dtype as Dtype
    from bitgate.model import DtypeSet as DtypeSet
    from bitgate.model import Fill as Fill
    from bitgate.model import Form as Form
    from bitgate.model import Problem as Problem
    from bitgate.model import ProblemError as ProblemError
    from bitgate.model import Tensor as Tensor
    from bitgate.model import case_id as case_id
    from bitgate.model import human as human
    from bitgate.model import parse_case_id as parse_case_id
    from bitgate.model.finding import Finding as Finding
    from bitgate.model.finding import Role as Role
    from bitgate.model.finding import Rule as Rule
    from bitgate.model.sized import Sized as Sized
    from bitgate.model.sized import SizedProblem as SizedProblem
    from bitgate.model.sized import StatedTensor as StatedTensor
    from bitgate.model.sized import read as read
    from bitgate.model.sized import written as written
    from bitgate.ops.convolution import CONVOLUTIONS as CONVOLUTIONS
    from bitgate.ops.convolution import ConvProblem as ConvProblem
    from bitgate.ops.convolution import Pass as Pass
    from bitgate.ops.convolution import SubGemm as SubGemm
    from bitgate.ops.convolution import default_layout as default_layout
    from bitgate.ops.convolution import default_weight_layout as default_weight_layout
    from bitgate.ops.convolution import gemms_count as gemms_count
    from bitgate.ops.convolution import sub_gemm_rows as sub_gemm_rows
    from bitgate.ops.convolution import sub_gemms as sub_gemms
    from bitgate.ops.convolution.layout import INPUT_LAYOUTS as INPUT_LAYOUTS
    from bitgate.ops.convolution.layout import input_letters as input_letters
    from bitgate.ops.convolution.layout import output_layout as output_layout
    from bitgate.ops.convolution.layout import output_letters as output_letters
    from bitgate.ops.convolution.layout import packed_strides as packed_strides
    from bitgate.ops.convolution.layout import weight_letters as weight_letters
    from bitgate.ops.gemm import GEMM_LAYOUTS as GEMM_LAYOUTS
    from bitgate.ops.gemm import GemmProblem as GemmProblem
    from bitgate.ops.reduction import Kind as Kind
    from bitgate.ops.reduction import ReductionProblem as ReductionProblem
    from bitgate.verify.diagnose import Scene as Scene

__getattr__, __dir__, __all__ = exports(
    __name__,
    {
        "bitgate.core.errors": "UsageError",
        "bitgate.model": "DTYPES F32_ACCUMULATION Accumulation Dtype DtypeSet Fill Form Problem ProblemError Tensor"
        " case_id human parse_case_id",
        "bitgate.model.finding": "Finding Role Rule",
        "bitgate.model.sized": "Sized SizedProblem StatedTensor read written",
        "bitgate.ops.convolution": "CONVOLUTIONS ConvProblem Pass SubGemm default_layout default_weight_layout"
        " gemms_count sub_gemm_rows sub_gemms",
        "bitgate.ops.convolution.layout": "INPUT_LAYOUTS input_letters output_layout output_letters packed_strides"
        " weight_letters",
        "bitgate.ops.gemm": "GEMM_LAYOUTS GemmProblem",
        "bitgate.ops.reduction": "Kind ReductionProblem",
        "bitgate.verify.diagnose": "Scene",
    },
)

__path__: list[str] = []
"""``bitgate.operation`` was a package once: its former submodules are found by bitgate.core.former_names."""
