"""Small random GEMMs."""

from __future__ import annotations

from hypothesis import strategies as st
from tests.epilogues import exact_epilogues
from tests.gapped import gapped

from bitgate.model import ELEMENTWISE, OPERAND_ELEMENTWISE, DtypeSet
from bitgate.ops.gemm import GEMM_LAYOUTS, GemmProblem, gemm_problem

_SIZES = st.integers(1, 24)


def gemms(dtypes: tuple[str, ...]) -> st.SearchStrategy[GemmProblem]:
    """Of any layout and operation, with gaps."""
    return gapped(exact_epilogues(_drawn(dtypes)))


@st.composite
def _drawn(draw: st.DrawFn, dtypes: tuple[str, ...]) -> GemmProblem:
    operand_op = st.sampled_from(("pass", "pass", *OPERAND_ELEMENTWISE)).map(ELEMENTWISE.__getitem__)
    return gemm_problem(
        DtypeSet.parse(draw(st.sampled_from(dtypes))),
        draw(st.sampled_from(GEMM_LAYOUTS)),
        draw(st.integers(1, 3)),
        draw(_SIZES),
        draw(_SIZES),
        draw(_SIZES),
        draw(st.sampled_from(list(ELEMENTWISE.values()))),
        in_op=draw(operand_op),
        wei_op=draw(operand_op),
        gap=draw(st.booleans()),
    )
