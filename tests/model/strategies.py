"""Random problems for property tests."""

from __future__ import annotations

from hypothesis import strategies as st
from tests.convolutions import COUNTED, Most, drawn_convolutions, with_own_types
from tests.epilogues import with_epilogues
from tests.gapped import gapped

from bitgate.model import DTYPES, Dtype, DtypeSet
from bitgate.ops.convolution import CONVOLUTIONS, ConvProblem, Pass

_DTYPES = st.sampled_from([dtype for dtype in DTYPES.values() if dtype.name != "i32"])


@st.composite
def dtype_sets(draw) -> DtypeSet:
    one: Dtype = draw(_DTYPES)
    inp, wei, out = draw(st.sampled_from([(one, one, one), (one, draw(_DTYPES), draw(_DTYPES))]))
    return DtypeSet(inp, wei, out, draw(st.sampled_from([None, draw(_DTYPES)])))


def problems(passes: tuple[Pass, ...] = CONVOLUTIONS, most: Most = COUNTED) -> st.SearchStrategy[ConvProblem]:
    """Small problems of every kind."""
    drawn = drawn_convolutions(dtype_sets(), passes, most, (1, 1, 2, 4, -1))
    return gapped(with_epilogues(with_own_types(drawn, _DTYPES)))
