"""Problems with alpha and beta, and forms of D, for property tests."""

from __future__ import annotations

from dataclasses import replace
from typing import TypeVar

from hypothesis import strategies as st

from bitgate.model import DTYPES, Contraction
from bitgate.model.d_form import DForm

Contracted = TypeVar("Contracted", bound=Contraction)

EXACT = (0.0, 1.0, -1.0, 2.0, 3.0, 0.5, -0.25)
"""Factors that keep integers exact."""
ROUNDING = (1.2, 0.1, 123456.0, 0.000000001)


def exact_epilogues(problems: st.SearchStrategy[Contracted]) -> st.SearchStrategy[Contracted]:
    """The problems, with factors that keep integers exact, and forms of D, where their operation has any."""
    return with_epilogues(problems, EXACT)


@st.composite
def with_epilogues(
    draw: st.DrawFn, problems: st.SearchStrategy[Contracted], values: tuple[float, ...] = (*EXACT, *ROUNDING)
) -> Contracted:
    """The problems, with factors of these values and forms of D, where their operation has any."""
    problem = draw(problems)
    factors = {name: draw(st.sampled_from(values)) for name in problem.op.takes if draw(st.booleans())}
    problem = replace(problem, op=problem.op.with_factors(factors))
    if not problem.op.num_d or problem.op.in_place or draw(st.booleans()):
        return problem
    form = DForm(
        layout=draw(st.sampled_from(["", *problem.d_layouts])),
        dtype=draw(st.sampled_from([None, DTYPES["f32"], DTYPES["bf16"], DTYPES["i8"]])),
        broadcast="".join(draw(st.lists(st.sampled_from(problem.result_letters), unique=True))),
    )
    return problem.with_form(form)
