"""A problem crosses the ABI with every length, stride, pad and operation in its place."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from bitgate.kernel.arguments import c_options, c_problem
from bitgate.kernel.dispatch import spans
from bitgate.operation import parse_case_id
from bitgate.operations.convolution import ConvProblem

sizes = st.integers(1, 5)


@st.composite
def problems(draw: st.DrawFn) -> ConvProblem:
    direction = draw(st.sampled_from(["fwd", "bwd_data", "bwd_weight"]))
    ndim = draw(st.integers(1, 3))
    filters = [draw(sizes) for _ in range(ndim)]
    parts = {
        "y": filters,
        "h": [size + draw(st.integers(4, 9)) for size in filters],
        "s": [draw(sizes) for _ in range(ndim)],
        "p": [draw(st.integers(0, 2)) for _ in range(ndim)],
        "q": [draw(st.integers(0, 2)) for _ in range(ndim)],
    }
    spatial = "_".join(key + "x".join(map(str, values)) for key, values in parts.items())
    operation = draw(st.sampled_from(["", "_bias", "_bilinear", "_scale"]))
    gap = draw(st.sampled_from(["", "_gap"]))
    return parse_case_id(
        f"{direction}_f16_g{draw(sizes)}n{draw(sizes)}k{draw(sizes)}c{draw(sizes)}_{spatial}{operation}{gap}"
    )


@given(problems(), st.sampled_from([4, 16]))
def test_a_problem_arrives_as_it_is(problem: ConvProblem, alignment: int) -> None:
    value = c_problem(problem, alignment)
    assert (value.operation, value.ndim, value.alignment) == (problem.direction.code, problem.ndim, alignment)
    for name, tensor in (("in_", "in"), ("wei", "wei"), ("out", "out"), ("d", "d0")):
        there = value.d[0] if name == "d" else getattr(value, name)
        if tensor not in problem.tensors:
            assert there.rank == 0
            continue
        here = problem.tensors[tensor]
        assert tuple(there.lengths[: there.rank]) == here.lengths
        assert tuple(there.strides[: there.rank]) == here.strides
        assert (there.dtype, there.layout.decode()) == (here.dtype.code, here.layout)
    for field in ("stride", "dilation", "left_pad", "right_pad"):
        assert tuple(getattr(value, field)[: problem.ndim]) == getattr(problem, field)
    assert (value.out_op.kind, value.out_op.alpha, value.out_op.beta) == (
        problem.op.code,
        problem.op.alpha,
        problem.op.beta,
    )
    assert (value.in_op.kind, value.wei_op.kind, value.num_d) == (0, 0, problem.op.num_d)


def test_options_keep_their_text_alive() -> None:
    value = c_options((("gate", "off"), ("bucket", "2")))
    assert [(value.items[i].name, value.items[i].value) for i in range(value.count)] == [
        (b"gate", b"off"),
        (b"bucket", b"2"),
    ]


@given(st.sets(st.integers(0, 40)))
def test_spans_name_exactly_the_indices(indices: set[int]) -> None:
    named: set[int] = set()
    for part in filter(None, spans(sorted(indices)).split(",")):
        first, _, last = part.partition("-")
        named |= set(range(int(first), int(last or first) + 1))
    assert named == indices
