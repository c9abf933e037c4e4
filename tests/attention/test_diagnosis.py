"""Wrong queries are named by what makes them: a mask, a head, sums that are not rescaled, a scale."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from tests.attention.test_reference import Arrays, made, sizes_of

from bitgate.numerics.rounding import rounded
from bitgate.ops.attention.attention import AttentionSizes, KeySoftmax, admitted, logits, weighted
from bitgate.ops.attention.diagnostics import from_the_first
from bitgate.ops.attention.mistakes import PAST_THE_END
from bitgate.ops.attention.sequences import Dense, admitted_of
from bitgate.verify.diagnose import Scene, diagnose
from bitgate.verify.poison import poison_bits

Wrong = Callable[[AttentionSizes, Arrays], Any]


def sentence(case: str, fill: str, wrong: Wrong, role: str = "o") -> str:
    """The diagnosis of what ``wrong`` makes of the inputs."""
    problem, inputs = made(case, fill, 1)
    dtype = problem.tensors[role].dtype
    cells = wrong(sizes_of(problem), inputs), problem.operation.reference(problem, inputs)[role]
    result, reference = (rounded(np.asarray(one, np.float64), dtype) for one in cells)
    known = {role: one.astype(np.float32) for role, one in inputs.items()}
    poison = poison_bits(dtype)
    scene = Scene(problem, result, reference, poison, known, output=role, exact=fill != "decimal")
    return diagnose(scene).sentence


def attend(sizes: AttentionSizes, inputs: Arrays, late: int = 0, scale: float = 1.0, **other: Any) -> Any:
    keys = admitted(sizes, other.get("lengths", inputs.get("lengths")), late)
    softmax = KeySoftmax.of(scale * logits(sizes, inputs), keys.mask(sizes.t))
    return softmax.over(weighted(sizes, softmax.powers, inputs["v"]))


def packed(sizes: AttentionSizes, inputs: Arrays, late: int = 0, **other: Any) -> Any:
    """The result of packed sequences that begin where ``other`` numbers say."""
    return dense(sizes, inputs, late, **other)[0]


def dense(sizes: AttentionSizes, inputs: Arrays, late: int = 0, **other: Any) -> Any:
    own = Dense.of(sizes, {**inputs, **{role: read(inputs) for role, read in other.items()}}, late)
    softmax = KeySoftmax.of(logits(own.sizes, own.cells), own.keys.mask(own.sizes.t))
    return softmax.over(weighted(own.sizes, softmax.powers, own.cells["v"]))


def by_modulo(sizes: AttentionSizes, inputs: Arrays) -> Any:
    """The result of queries whose heads are grouped by their number modulo that of heads of keys."""
    order = np.argsort(np.arange(sizes.h) % sizes.kv, kind="stable")
    return attend(sizes, {**inputs, "q": inputs["q"][:, order]})[:, np.argsort(order)]


def in_tiles(sizes: AttentionSizes, inputs: Arrays, keeps_sums: bool) -> Any:
    """An online softmax in tiles of 32 keys that does not rescale values, or powers, or (of slices) neither."""
    x, top = logits(sizes, inputs), np.full((sizes.b, sizes.h, sizes.s, 1), -np.inf)
    sums, values = np.zeros_like(top), np.zeros_like(inputs["q"])
    for first in range(0, sizes.t, 32):
        own, v = x[..., first : first + 32], inputs["v"][:, :, first : first + 32]
        grown = np.maximum(top, own.max(axis=3, keepdims=True))
        powers, factor = np.exp(own - grown), np.exp(top - grown)
        sums = sums * (1.0 if keeps_sums else factor) + powers.sum(axis=3, keepdims=True)
        values = values * (factor if keeps_sums else 1.0) + weighted(sizes, powers, v)
        top = grown
    return values / sums


@pytest.mark.parametrize(
    ("case", "fill", "wrong", "said"),
    [
        ("f16_b1h2kv1s30t70d40_causal", "exact", lambda s, x: attend(s, x, 1), "a key more than each query admits"),
        ("f16_b1h2kv1s30t70d40_causal", "exact", lambda s, x: attend(s, x, -1), "the last admitted key of each query"),
        ("f16_b1h2kv1s30t70d40_causal", "exact", lambda s, x: attend(s, x, -40), "begins at the first key"),
        ("f16_b1h2kv1s30t70d40_causal", "decimal", lambda s, x: attend(s, x, 70), "later keys are let in"),
        (
            "bf16_b5h2kv1s9t70d40_full_padded",
            "exact",
            lambda s, x: attend(s, x, lengths=np.full(5, 70)),
            "padded keys are let in",
        ),
        ("f16_b1h6kv3s20t40d40_full", "exact", by_modulo, "keys and values are of the head modulo their number"),
        ("f32_b1h2kv1s30t70d40_full", "decimal", lambda s, x: attend(s, x, scale=1.1), "are scaled by 1.1"),
        ("f16_b1h2kv1s30t70d40_full", "decimal", lambda s, x: attend(s, x, scale=np.log(2)), "without log2 e"),
        (
            "f16_b1h2kv1s30t200d40_full",
            "exact",
            lambda s, x: in_tiles(s, x, False),
            "the sum of values is not rescaled",
        ),
        ("f16_b1h2kv1s30t200d40_full", "exact", lambda s, x: in_tiles(s, x, True), "the sum of powers is not rescaled"),
    ],
)
def test_defects_are_named(case: str, fill: str, wrong: Wrong, said: str) -> None:
    assert said in sentence(f"attention_{case}", fill, wrong)


def search_ends_at(sizes: AttentionSizes, inputs: Arrays, last: int) -> Any:
    """The result of a search for the sequence of a query that knows none past ``last``."""
    own = Dense.of(sizes, inputs)
    keys = admitted_of(sizes, inputs, last=last)
    softmax = KeySoftmax.of(logits(own.sizes, own.cells), keys.mask(own.sizes.t))
    return softmax.over(weighted(own.sizes, softmax.powers, own.cells["v"]))[0]


CAUSAL, FULL = "f16_b4h2kv1s60t90d40_causal_packed", "f16_b4h2kv1s60t90d40_full_packed"


@pytest.mark.parametrize(
    ("case", "wrong", "said"),
    [
        (CAUSAL, lambda s, x: packed(s, x, 1), "the diagonal of the mask is a key late"),
        (FULL, lambda s, x: packed(s, x, cu_seqlens_k=lambda x: np.append(x["cu_seqlens_k"][1:], 90)), "next sequence"),
        (
            FULL,
            lambda s, x: packed(s, x, cu_seqlens_k=lambda x: np.append(0, x["cu_seqlens_k"][:-1])),
            "sequence before",
        ),
        (FULL, lambda s, x: packed(s, x, cu_seqlens_k=lambda x: x["cu_seqlens_q"]), "cu_seqlens_q is taken for"),
        (
            CAUSAL,
            lambda s, x: packed(s, x, cu_seqlens_k=lambda x: np.minimum(x["cu_seqlens_k"] + 1, 90)),
            "the keys of each sequence begin a key late",
        ),
        (CAUSAL, lambda s, x: packed(s, x, cu_seqlens_q=lambda x: x["cu_seqlens_q"] + 1), "begin a query late"),
        (CAUSAL, lambda s, x: search_ends_at(s, x, 1), "queries of sequences past 1 are taken for those of sequence 1"),
        (FULL, lambda s, x: search_ends_at(s, x, 2), "queries of sequences past 2 are taken for those of sequence 2"),
    ],
)
def test_defects_of_packed_sequences_are_named(case: str, wrong: Wrong, said: str) -> None:
    assert said in sentence(f"attention_{case}", "exact", wrong)


def test_a_place_from_a_packed_sequence_on_is_named() -> None:
    def later(sizes: AttentionSizes, inputs: Arrays, first: int) -> Any:
        """The result of which the sequences from one on are zero."""
        return np.where(np.arange(sizes.s)[:, None] < inputs["cu_seqlens_q"][first], packed(sizes, inputs), 0.0)

    case = f"attention_{FULL}"
    assert "only in packed sequences 2 and 3 of 4" in sentence(case, "exact", lambda s, x: later(s, x, 2))
    assert "packed sequence" not in sentence(case, "exact", lambda s, x: later(s, x, 0))


PAGES = "f16_b4h2kv1s30t96d64p16_full_padded_paged"


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        (
            lambda s, x: dense(s, x, page_table=lambda x: np.roll(x["page_table"].reshape(-1), -1).reshape(4, 6)),
            "the page table is read one entry late",
        ),
        (lambda s, x: dense(s, x, page_table=lambda x: x["page_table"][[0, 0, 0, 0]]), "read of batch 0"),
        (
            lambda s, x: dense(s, x, lengths=lambda x: -(-x["lengths"] // 16) * 16),
            "the tail of the last page is let in",
        ),
        (lambda s, x: dense(s, x, lengths=lambda x: (x["lengths"] - 1) // 16 * 16), "the last page is left out"),
    ],
)
def test_defects_of_pages_are_named(wrong: Wrong, said: str) -> None:
    assert said in sentence(f"attention_{PAGES}", "exact", wrong)


def test_nan_of_pages_that_nothing_was_written_to_is_named() -> None:
    def read_past(sizes: AttentionSizes, inputs: Arrays) -> Any:
        """Values past the keys of a batch times weights of 0: the last pages of batches that are short are NaN."""
        short = -(-inputs["lengths"] // sizes.p) < sizes.table
        return dense(sizes, inputs) + np.where(short, np.nan, 0.0)[:, None, None, None]

    said = "the wrong cells are NaN, as pages past the keys of a batch are"
    assert f"{said}: these are read" in sentence(f"attention_{PAGES}", "exact", read_past)
    apart = sentence(f"attention_{PAGES}_gapvh8", "exact", read_past)
    assert f"{said}, and padding of k or v is: one of them is read" in apart


def other_scales(sizes: AttentionSizes, inputs: Arrays, key: str, value: str, roll: int = 0) -> Any:
    """The result of heads of which others scale keys and values: ``k_scale``, ``v_scale`` or ``one``."""
    scales = {**inputs, "one": np.ones(sizes.kv)}
    other = {"k_scale": np.roll(scales[key], roll), "v_scale": np.roll(scales[value], roll)}
    return dense(sizes, {**inputs, **other})


@pytest.mark.parametrize(
    ("fill", "wrong", "said"),
    [
        ("exact", lambda s, x: other_scales(s, x, "k_scale", "k_scale"), "the scale of keys is taken for values"),
        ("exact", lambda s, x: other_scales(s, x, "k_scale", "one"), "the scale of values is left out"),
        ("exact", lambda s, x: other_scales(s, x, "k_scale", "v_scale", 1), "the scales of the next head are taken"),
        ("decimal", lambda s, x: other_scales(s, x, "one", "v_scale"), "the scale of keys is left out"),
        ("decimal", lambda s, x: other_scales(s, x, "v_scale", "v_scale"), "the scale of values is taken for keys"),
    ],
)
def test_defects_of_scales_are_named(fill: str, wrong: Wrong, said: str) -> None:
    assert said in sentence("attention_f16_f8ocp_f8ocp_f16_b2h4kv2s20t40d40_full_scaled", fill, wrong)


def test_scales_of_interleaved_heads_are_named() -> None:
    def interleaved(sizes: AttentionSizes, inputs: Arrays) -> Any:
        """Values of each query's head, scaled as if heads of keys were interleaved."""
        group = sizes.h // sizes.kv
        scale = inputs["v_scale"]
        by = [scale[head % sizes.kv] / scale[head // group] for head in range(sizes.h)]
        return dense(sizes, inputs) * np.array(by)[:, None, None]

    said = sentence("attention_f16_f8ocp_f8ocp_f16_b2h4kv2s20t40d40_full_scaled", "exact", interleaved)
    assert "of values the scales of the head modulo their number are taken" in said


def test_a_scale_past_those_of_keys_is_that_of_the_query_head() -> None:
    """The second head of queries shares the one head of keys, and finds what is after its scale in memory."""

    def own(sizes: AttentionSizes, inputs: Arrays) -> Any:
        factors = np.array([1.0, PAST_THE_END[0] / inputs["v_scale"][0]])
        return dense(sizes, inputs) * factors[:, None, None]

    said = sentence("attention_f16_f8ocp_f8ocp_f16_b2h2kv1s20t40d40_full_scaled", "exact", own)
    assert "of values the scales of the query's own head are taken" in said


def test_two_mistakes_that_give_the_same_are_both_named() -> None:
    """Of a window of one key, no key is left without the first one, nor without the last one."""

    def none(sizes: AttentionSizes, inputs: Arrays) -> Any:
        return np.zeros_like(inputs["q"])

    said = sentence("attention_f16_b1h2kv1s30t70d40_window", "exact", none)
    assert said.startswith("the last admitted key of each query is left out or the first key of the window is left out")


def test_nan_of_several_operands_names_none_of_them() -> None:
    """Reads of q's padding, and of k's, leave the same NaN."""
    case = "attention_f16_b1h2kv2s9t9d24_full_gapqd8_gapkd8"

    def wrong(sizes: AttentionSizes, inputs: Arrays) -> Any:
        return np.full_like(inputs["q"], np.nan)

    assert "is read with" not in sentence(case, "exact", wrong)


def test_an_operand_that_is_read_in_vectors_though_its_columns_lie_apart() -> None:
    case = "attention_f16_b1h2kv1s9t40d24_full_gapve1"

    def wrong(sizes: AttentionSizes, inputs: Arrays) -> Any:
        memory = np.full((*inputs["v"].shape[:3], 48), np.nan)
        memory[..., ::2] = inputs["v"]
        column = np.arange(24)
        return attend(sizes, {**inputs, "v": memory[..., column // 8 * 16 + column % 8]})

    assert "v is read with stride 1 instead of 2 within each block of 8 d" in sentence(case, "exact", wrong)


def test_a_logarithm_to_another_base_is_named() -> None:
    def base_2(sizes: AttentionSizes, inputs: Arrays) -> Any:
        return KeySoftmax.of(logits(sizes, inputs), np.ones((1, 1, 1, sizes.t), np.bool_)).lse / np.log(2)

    said = sentence("attention_f16_b1h2kv1s30t70d40_full_lse", "decimal", base_2, "lse")
    assert "lse is a logarithm to base 2" in said


def test_a_logarithm_of_the_sum_to_another_base_is_named() -> None:
    def base_2(sizes: AttentionSizes, inputs: Arrays) -> Any:
        softmax = KeySoftmax.of(logits(sizes, inputs), np.ones((1, 1, 1, sizes.t), np.bool_))
        return (softmax.top + np.log2(softmax.sums))[..., 0]

    said = sentence("attention_f16_b1h2kv1s30t70d40_full_lse", "decimal", base_2, "lse")
    assert "lse is the largest logit plus a logarithm to base 2 of the sum of powers" in said


def test_an_lse_whose_maximum_is_taken_to_another_base() -> None:
    def scaled(sizes: AttentionSizes, inputs: Arrays) -> Any:
        softmax = KeySoftmax.of(logits(sizes, inputs), np.ones((1, 1, 1, sizes.t), np.bool_))
        return (softmax.top * np.log(2) + np.log(softmax.sums))[..., 0]

    said = sentence("attention_f16_b1h2kv1s30t70d40_full_lse", "decimal", scaled, "lse")
    assert "lse multiplies the largest logit by ln 2" in said


def test_values_of_slices_that_are_not_rescaled() -> None:
    def wrong(sizes: AttentionSizes, inputs: Arrays) -> Any:
        """Two slices of 64 and 6 keys, of whose values each is at its own maximum."""
        x = logits(sizes, inputs)
        own = [KeySoftmax.of(x[..., part], np.ones((1, 1, 1, 1), np.bool_)) for part in (slice(64), slice(64, None))]
        top = np.maximum(own[0].top, own[1].top)
        sums = sum(one.sums * np.exp(one.top - top) for one in own)
        v = inputs["v"][:, :, :64], inputs["v"][:, :, 64:]
        return sum(weighted(sizes, one.powers, cells) for one, cells in zip(own, v, strict=True)) / sums

    said = sentence("attention_f16_b1h2kv1s30t70d40_full", "exact", wrong)
    assert "the sums of values of 2 slices in tiles of" in said


def packed_scene(wrong: Callable[[Arrays, Any], Any]) -> Scene[Any]:
    """The scene of what ``wrong`` makes of the inputs and the right result; NaN is what was never written."""
    problem, inputs = made(f"attention_{FULL}", "exact", 1)
    dtype = problem.tensors["o"].dtype
    right = rounded(np.asarray(problem.operation.reference(problem, inputs)["o"], np.float64), dtype)
    found = rounded(wrong(inputs, right.astype(np.float64)), dtype)
    poison = poison_bits(dtype)
    found.view(np.uint16)[np.isnan(found)] = poison
    return Scene(problem, found, right, poison, {role: one.astype(np.float32) for role, one in inputs.items()})


def test_packed_results_that_are_written_from_the_first_query_on() -> None:
    def wrong(inputs: Arrays, right: Any) -> Any:
        result = np.full_like(right, np.nan)
        for first, end in pairwise(inputs["cu_seqlens_q"].astype(int)):
            result[:, : end - first] = right[:, first:end]
        return result

    said = diagnose(packed_scene(wrong)).sentence
    assert said.startswith("the results of every packed sequence are written as if it began at the first query")


@pytest.mark.parametrize("cells", [2, 9])
def test_numbers_in_the_place_of_infinities_are_no_other_sequence(cells: int) -> None:
    """One sequence has all queries. Rows without a key should be -inf, and hold numbers."""
    scene = packed_scene(lambda inputs, right: right)
    scene.reference[0, 0, :cells] = -np.inf
    known = {**scene.inputs, "cu_seqlens_q": np.array([0, 60, 60, 60, 60], np.float32)}
    scene.result[0, 0, :cells] = np.arange(1, 1 + cells)
    assert from_the_first(replace(scene, inputs=known)) is None


def read_by_strides_of(case: str, role: str, other: str, cells: Any) -> Any:
    """Read a tensor with the strides of another one: NaN where its rows have gaps between them."""
    problem, _ = made(case, "exact", 1)
    tensor = problem.tensors[role]
    own, theirs = (np.tensordot(one.strides, np.indices(tensor.lengths), 1) for one in (tensor, problem.tensors[other]))
    memory = np.full(1 + max(own.max(), theirs.max()), np.nan)
    memory[own] = cells
    return memory[theirs]


@pytest.mark.parametrize(("role", "other"), [("v", "k"), ("k", "v")])
def test_an_operand_that_is_read_with_the_strides_of_another(role, other) -> None:
    case = f"attention_f16_b1h2kv2s9t40d24_full_gap{role}d8"

    def wrong(sizes: AttentionSizes, inputs: Arrays) -> Any:
        return attend(sizes, {**inputs, role: read_by_strides_of(case, role, other, inputs[role])})

    said = sentence(case, "exact", wrong)
    assert said.startswith(f"{role} is read with strides (1920, 960, 24, 1) instead of (2560, 1280, 32, 1): those of ")


def heads_scene(wrong: Any, other: Any) -> Scene:
    """Two heads, of which the second one holds other cells in each of two runs."""
    problem, inputs = made("attention_f16_b2h2kv1s3t40d40_full", "exact", 1)
    right = np.asarray(problem.operation.reference(problem, inputs)["o"]).astype(np.float16)
    one, two = right.copy(), right.copy()
    one[:, 1], two[:, 1] = wrong, other(right[:, 1])
    return Scene(problem, one, right, 0xFFFF, {}, output="o", other_run=two, runs=("forward", "reverse"))


def test_heads_that_no_block_computes_are_no_race() -> None:
    """The result of merging slices from an unwritten workspace differs from run to run."""
    diagnosis = diagnose(heads_scene(0, lambda right: np.full_like(right, 7)))
    assert diagnosis.kinds[0] == "zero"
    assert diagnosis.sentence.startswith("head 1 of 2 is not computed: all cells there are zero, and all others are")
    assert "a race" not in diagnosis.sentence


def test_heads_that_one_of_two_runs_computes_are_a_race() -> None:
    assert diagnose(heads_scene(0, lambda right: right)).kinds[0] == "race"
