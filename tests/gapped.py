"""Problems whose tensors have separate padding, for property tests."""

from __future__ import annotations

from dataclasses import replace
from typing import TypeVar

from hypothesis import strategies as st

from bitgate.model import Contraction
from bitgate.model.gap import ELEMENT, Gap

Contracted = TypeVar("Contracted", bound=Contraction)


@st.composite
def gapped(draw: st.DrawFn, problems: st.SearchStrategy[Contracted]) -> Contracted:
    """The problems, every other one with padding after up to three axes of its tensors, or after elements."""
    problem = draw(problems)
    places = [
        (tensor, axis) for tensor, order in problem.gap_orders.items() for axis in (*order[1:], *ELEMENT[: len(order)])
    ]
    chosen = draw(st.lists(st.sampled_from(places), unique=True, max_size=3)) if draw(st.booleans()) else []
    return replace(problem, gaps=tuple(Gap(tensor, axis, draw(st.integers(1, 9))) for tensor, axis in chosen))
