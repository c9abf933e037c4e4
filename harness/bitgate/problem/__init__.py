"""What a kernel computes: problems, their sub-GEMMs, and the ids that name them. Pure; no GPU, no files."""

from bitgate.problem.case_id import case_id, human, parse_case_id
from bitgate.problem.conv import CONVOLUTIONS, ConvProblem, Pass, ProblemError, Tensor
from bitgate.problem.decomposition import SubGemm, gemms_count, never_written_fraction, sub_gemm_rows, sub_gemms
from bitgate.problem.dtype import DTYPES, Dtype, DtypeSet
from bitgate.problem.gemm import GemmProblem, gemm_problem

__all__ = [
    "CONVOLUTIONS",
    "DTYPES",
    "ConvProblem",
    "Dtype",
    "DtypeSet",
    "GemmProblem",
    "Pass",
    "ProblemError",
    "SubGemm",
    "Tensor",
    "case_id",
    "gemm_problem",
    "gemms_count",
    "human",
    "never_written_fraction",
    "parse_case_id",
    "sub_gemm_rows",
    "sub_gemms",
]
