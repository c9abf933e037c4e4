"""A problem crosses the ABI with every length, stride, pad and operation in its place."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.problems import convolution

from bitgate.kernel.abi import Value, values_of
from bitgate.kernel.arguments import c_options
from bitgate.kernel.c_problem import Access, CProblemMemory
from bitgate.kernel.dispatch import spans
from bitgate.model import parse_case_id
from bitgate.ops.convolution import ConvProblem

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
    return convolution(
        f"{direction}_f16_g{draw(sizes)}n{draw(sizes)}k{draw(sizes)}c{draw(sizes)}_{spatial}{operation}{gap}"
    )


@given(problems(), st.sampled_from([4, 16]))
def test_a_problem_arrives_as_it_is(problem: ConvProblem, alignment: int) -> None:
    lent = CProblemMemory(problem, alignment)
    there = lent.structure
    assert (there.operation.decode(), there.alignment) == (str(problem.operation), alignment)
    assert lent.roles == tuple(problem.tensors)
    for tensor, (role, here) in zip(there.tensors[: there.tensor_count], problem.tensors.items(), strict=True):
        assert (tensor.role.decode(), tensor.dtype, tensor.layout.decode()) == (role, here.dtype.code, here.layout)
        assert tuple(tensor.lengths[: tensor.rank]) == here.lengths
        assert tuple(tensor.strides[: tensor.rank]) == here.strides
        assert tensor.access == (Access.WRITTEN if role == problem.result else Access.READ)
    assert values_of(there.attributes, there.attribute_count) == problem.attributes


@pytest.mark.parametrize(
    ("case", "stated"),
    [
        ("gemm_f16_rcr_b2m64n64k32", {}),
        ("gemm_f16_rcr_b2m64n64k32_bilinear_sk4", {"op": "bilinear", "alpha": 2.0, "beta": 3.0, "split_k": 4}),
        (
            "bwd_data_f16_ctf8ocp_nhwgc_g1n1k8c8_y1x1_h4x4_weirelu",
            {
                **dict.fromkeys(("stride", "dilation"), (1, 1)),
                **dict.fromkeys(("left_pad", "right_pad"), (0, 0)),
                **{"wei_op": "relu", "wei_alpha": 1.0, "wei_beta": 0.0, "compute": "f8ocp"},
            },
        ),
    ],
)
def test_attributes_at_their_default_are_left_out(case: str, stated: dict[str, Value]) -> None:
    assert parse_case_id(case).attributes == stated


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
