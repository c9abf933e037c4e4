"""Attention against PyTorch, and its data: what each query is for, and what the certificate says of them."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from bitgate.model import F32_ACCUMULATION, Problem, ProblemError, case_id, parse_case_id
from bitgate.numerics.certificate import certify
from bitgate.numerics.fill import make_inputs, plan_fill
from bitgate.numerics.rounding import rounded
from bitgate.ops.attention.attention import Admitted, AttentionSizes, logits
from bitgate.ops.attention.sequences import Dense
from bitgate.verify.bounds import bounded_results, round_safe

Arrays = dict[str, np.ndarray[Any, Any]]
SHAPES = (
    "b2h4kv2s130t130d64_causal",
    "b2h4kv2s130t130d64w30_window",
    "b5h2kv1s70t130d40_causal_padded",
    "b1h2kv2s100t60d64_causal",
    "b2h6kv3s100t100d64w5_window_padded",
    "b1h2kv1s5t256d32_full",
    "b5h4kv2s130t170d64_causal_packed",
    "b7h2kv1s300t300d64_full_packed",
    "b4h2kv1s100t128d64w20_window_packed",
    "b4h2kv1s100t228d128w70_window_packed",
    "b2h4kv2s130t170d64p7_causal_paged",
    "b2h2kv1s9t100d64p16_full_paged",
)


def made(case: str, fill: str = "exact", seed: int = 0) -> tuple[Problem, Arrays]:
    problem = parse_case_id(case)
    inputs = make_inputs(problem, plan_fill(problem, F32_ACCUMULATION, fill, seed))
    return problem, {role: host.logical.astype(np.float64) for role, host in inputs.items()}


def sizes_of(problem: Any) -> AttentionSizes:
    sizes: AttentionSizes = problem.sizes
    return sizes


@pytest.mark.parametrize(
    ("text", "canonical"),
    [
        ("attention_f16_b2h8kv2s512t512d64_causal", "attention_f16_b2h8kv2s512t512d64_causal"),
        ("attention_f16_b1h1kv1s3t5d32", "attention_f16_b1h1kv1s3t5d32_full"),
        ("attention_f16_b1h1kv1s3t5d32w4_lse_window_padded", "attention_f16_b1h1kv1s3t5d32w4_window_padded_lse"),
        ("attention_f16_b2h1kv1s3t5d32p4_paged_padded", "attention_f16_b2h1kv1s3t5d32p4_full_padded_paged"),
        (
            "attention_f16_f8ocp_f8ocp_f16_b2h1kv1s3t5d32_scaled",
            "attention_f16_f8ocp_f8ocp_f16_b2h1kv1s3t5d32_full_scaled",
        ),
        ("attention_f16_b2h1kv1s3t5d32_packed_lse", "attention_f16_b2h1kv1s3t5d32_full_lse_packed"),
        ("attention_f16_b2h1kv1s3t5d32_packed_gapkh8", "attention_f16_b2h1kv1s3t5d32_full_packed_gapkh8"),
        ("attention_f16_b1h1kv1s3t5d32w1_window_gapkt8", "attention_f16_b1h1kv1s3t5d32_window_gapkt8"),
    ],
)
def test_spellings(text: str, canonical: str) -> None:
    assert case_id(parse_case_id(text)) == canonical == case_id(parse_case_id(canonical))


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("attention_f16_b1h3kv2s3t5d32_full", "h = 3 is no multiple of kv = 2"),
        ("attention_f16_b1h2kv2s3t5d32w4_causal", "w = 4 without window"),
        ("attention_f16_b1h2kv2s3t5d32_full_padded_packed", "cu_seqlens_k says how many keys"),
        ("attention_f16_b1h2kv2s3t5d32_full_packed_paged", "packed and paged"),
        ("attention_f16_b1h2kv2s3t5d32p4_full", "p = 4 without paged"),
    ],
)
def test_what_cannot_be(text: str, said: str) -> None:
    with pytest.raises(ProblemError, match=said):
        parse_case_id(text)


def random_case(rng: np.random.Generator, places: tuple[str, ...] = ("",)) -> str:
    """A case of any lengths; ``places`` are words for where keys are, of which batches that lie apart may be padded."""
    kv, group = rng.integers(1, 4, 2)
    b, s, t, d, w = (int(rng.integers(1, most)) for most in (4, 40, 60, 70, 20))
    mask, place = str(rng.choice(["full", "causal", "window"])), str(rng.choice(places))
    window = f"w{w}" * (mask == "window")
    padded = "_padded" * int(rng.integers(2)) * (place != "_packed")
    pages = f"p{int(rng.integers(1, 20))}" * (place == "_paged")
    scaled = "_scaled" * (len(places) > 1 and bool(rng.integers(2)))
    return f"attention_f32_b{b}h{kv * group}kv{kv}s{s}t{t}d{d}{window}{pages}_{mask}{padded}_lse{place}{scaled}"


@pytest.mark.needs("torch")
@pytest.mark.usefixtures("one_thread")
def test_200_references_agree_with_pytorch() -> None:
    rng = np.random.default_rng(1)
    for seed in range(200):
        case = random_case(rng, ("", "_packed", "_paged"))
        has_exact = len(parse_case_id(case).operation.numerics.fills(parse_case_id(case))) > 1
        problem, inputs = made(case, ("exact", "decimal")[seed % 2] if has_exact else "decimal", seed)
        found = problem.operation.reference(problem, inputs)
        for role, right in by_torch(problem, inputs).items():
            assert np.allclose(found[role], right, rtol=1e-9, atol=1e-11), (case, role)


@pytest.fixture
def one_thread() -> None:
    """Keep PyTorch to one thread: small tensors on many wait for each other."""
    import torch

    torch.set_num_threads(1)


def mask_of(sizes: Any, inputs: Arrays) -> Any:
    """The admitted pairs of a query and a key, written anew with PyTorch's triangles; shape (b, 1, s, t)."""
    import torch

    mask = torch.ones(sizes.s, sizes.t, dtype=torch.bool)
    if sizes.mask.value != "full":
        mask = mask.tril(sizes.t - sizes.s)
    if sizes.mask.value == "window":
        mask = mask.triu(sizes.t - sizes.s - sizes.w + 1)
    mask = mask[None, None].repeat(sizes.b, 1, 1, 1)
    if sizes.padded:
        mask &= torch.arange(sizes.t)[None, None, None] < torch.from_numpy(inputs["lengths"])[:, None, None, None]
    return mask


def by_torch(problem: Any, inputs: Arrays) -> Arrays:
    """The results of PyTorch on the CPU in f64; of packed sequences those of each alone, one after the other."""
    sizes = sizes_of(problem)
    if sizes.scaled:
        scaled = {role: np.einsum("...htd,h->...htd", inputs[role], inputs[f"{role}_scale"]) for role in ("k", "v")}
        inputs = {**inputs, **scaled}
    if sizes.paged:
        inputs = {**inputs, **{role: one_by_one(sizes, inputs, role) for role in ("k", "v")}}
    if not sizes.packed:
        return of_batches(sizes, inputs)
    found: Arrays = {"o": inputs["q"] * 0, "lse": inputs["q"][..., 0] * 0}
    ends = [inputs[f"cu_seqlens_{one}"].astype(int)[1:] for one in "qk"]
    first, start = 0, 0
    for last, end in zip(*ends, strict=True):
        if last > first:
            alone = replace(sizes, b=1, s=int(last - first), t=int(end - start), packed=False)
            cells = {"q": inputs["q"][None, :, first:last]} | {r: inputs[r][None, :, start:end] for r in ("k", "v")}
            for role, cell in of_batches(alone, cells).items():
                found[role][:, first:last] = cell[0]
        first, start = last, end
    return found


def one_by_one(sizes: AttentionSizes, inputs: Arrays, role: str) -> Any:
    """Keys or values (b, kv, t, d), each read from its page; 0 past the length of a batch."""
    found = np.zeros((sizes.b, sizes.kv, sizes.t, sizes.d))
    for batch in range(sizes.b):
        for key in range(int(inputs["lengths"][batch]) if sizes.padded else sizes.t):
            page = int(inputs["page_table"][batch, key // sizes.p])
            found[batch, :, key] = inputs[role][page, :, key % sizes.p]
    return found


def of_batches(sizes: AttentionSizes, inputs: Arrays) -> Arrays:
    import torch

    q, k, v = (torch.from_numpy(inputs[role]) for role in ("q", "k", "v"))
    k, v = (one.repeat_interleave(sizes.h // sizes.kv, dim=1) for one in (k, v))
    mask = mask_of(sizes, inputs)
    o = torch.nn.functional.scaled_dot_product_attention(q, k, v, attn_mask=mask)
    x = torch.where(mask, q @ k.transpose(2, 3) / sizes.d**0.5, -torch.inf)
    return {"o": torch.nan_to_num(o).numpy(), "lse": torch.logsumexp(x, 3).numpy()}


@pytest.mark.needs("torch")
@pytest.mark.usefixtures("one_thread")
def test_200_gradients_agree_with_pytorch() -> None:
    import torch

    rng = np.random.default_rng(2)
    for seed in range(200):
        case = random_case(rng).removesuffix("_lse").replace("attention", "attention_bwd")
        problem, inputs = made(case, "decimal", seed)
        sizes = problem.sizes  # type: ignore[attr-defined]
        leaves = {role: torch.from_numpy(inputs[role]).requires_grad_() for role in ("q", "k", "v")}
        k, v = (leaves[role].repeat_interleave(sizes.h // sizes.kv, dim=1) for role in ("k", "v"))
        x = torch.where(mask_of(sizes, inputs), leaves["q"] @ k.transpose(2, 3) / sizes.d**0.5, -1e30)
        weights = torch.softmax(x, 3) * mask_of(sizes, inputs)
        (weights @ v).backward(torch.from_numpy(inputs["do"]))
        found = problem.operation.reference(problem, inputs)
        for role, leaf in leaves.items():
            assert leaf.grad is not None
            assert np.allclose(found[f"d{role}"], leaf.grad.numpy(), rtol=1e-9, atol=1e-11), (case, role)


@pytest.mark.parametrize("fill", ["exact", "decimal"])
def test_saved_data_are_what_the_forward_pass_leaves(fill: str) -> None:
    """A query that admits no key has o = 0 and lse = -inf."""
    problem, inputs = made("attention_bwd_f16_b5h2kv1s9t40d40_causal_padded_saved", fill)
    forward = parse_case_id("attention_f16_b5h2kv1s9t40d40_causal_padded_lse")
    left = forward.operation.reference(forward, inputs)
    for role in ("o", "lse"):
        assert np.array_equal(inputs[role], rounded(left[role], problem.tensors[role].dtype).astype(np.float64))
    assert np.isneginf(inputs["lse"]).any()


def seen(shape: str, fill: str) -> tuple[AttentionSizes, Admitted, Arrays]:
    """Logits, the mask, the largest admitted logit of each query that has one, and how many have it."""
    problem, inputs = made(f"attention_f16_{shape}", fill, 1)
    own = Dense.of(problem.sizes, inputs)  # type: ignore[attr-defined]
    sizes, keys, x = own.sizes, own.keys, logits(own.sizes, own.cells)
    mask = np.broadcast_to(keys.mask(sizes.t), x.shape)
    some = np.broadcast_to(~keys.none[:, None], x.shape[:3])
    top = np.max(x, axis=3, where=mask, initial=-np.inf)[some]
    wins = mask[some] & (x[some] == top[:, None])
    return sizes, keys, {"x": x[some], "mask": mask[some], "top": top, "wins": wins, "some": some}


@pytest.mark.parametrize("fill", ["peaked", "flat", "exact"])
@pytest.mark.parametrize("shape", SHAPES)
def test_masked_keys_are_104_above_winners_and_these_above_others(shape: str, fill: str) -> None:
    _, _, now = seen(shape, fill)
    assert np.min(now["x"] - now["top"][:, None], where=~now["mask"], initial=np.inf) >= 104
    others = now["mask"] & ~now["wins"]
    assert np.max(now["x"] - now["top"][:, None], where=others, initial=-np.inf) <= -104
    count = now["wins"].sum(axis=1)
    assert ((count & (count - 1)) == 0).all()
    assert fill != "peaked" or (count == 1).all()
    assert fill != "flat" or count.max() >= 2


@pytest.mark.parametrize("shape", ["b2h4kv2s130t200d64_causal", "b2h4kv2s130t200d64_full"])
def test_winners_are_last_on_edges_and_in_each_pair_of_tiles(shape: str) -> None:
    sizes, keys, now = seen(shape, "peaked")
    winner = now["wins"].argmax(axis=1)
    end = np.broadcast_to(keys.end[:, None], (sizes.b, sizes.h, sizes.s))[now["some"]]
    assert np.count_nonzero(winner == end - 1) >= winner.size // 3
    assert np.count_nonzero(np.isin(winner % 64, (0, 63))) >= winner.size // 5
    query = np.broadcast_to(np.arange(sizes.s), now["some"].shape)[now["some"]]
    for tile in range(0, sizes.s, 64):
        in_tile = (query >= tile) & (query < tile + 64)
        reached = {key // 64 for key in range(int(end[in_tile].max()))}
        assert {int(key) // 64 for key in winner[in_tile]} == reached


def test_packed_sequences_begin_anywhere_on_edges_after_them_and_some_are_empty() -> None:
    met = set[str]()
    for seed in range(8):
        _, inputs = made("attention_f32_b6h1kv1s200t300d64_full_packed", seed=seed)
        for begins in (inputs["cu_seqlens_q"], inputs["cu_seqlens_k"]):
            inner = begins[1:-1]
            met |= {"edge"} if (inner[inner > 0] % 64 == 0).any() else set()
            met |= {"after"} if (inner[inner > 1] % 64 == 1).any() else set()
            met |= {"empty"} if (np.diff(begins) == 0).any() else set()
    assert met == {"edge", "after", "empty"}


def test_pages_are_anywhere_and_those_past_the_keys_hold_nothing() -> None:
    problem, inputs = made("attention_f16_b5h2kv1s3t70d64p16_full_padded_paged")
    table, sizes = inputs["page_table"].astype(int), sizes_of(problem)
    assert len(np.unique(table)) == table.size == sizes.pages - 2
    assert (np.diff(table.reshape(-1)) != 1).any()
    used = [table[batch, : -(-int(length) // 16)] for batch, length in enumerate(inputs["lengths"])]
    is_used = np.isin(np.arange(sizes.pages), np.concatenate(used))
    for role in ("k", "v"):
        assert np.isnan(inputs[role][~is_used]).all()
        assert np.isfinite(inputs[role][is_used]).all()  # the tail of a last page has decoys


@pytest.mark.parametrize("key", ["f8ocp", "bf8ocp", "f8fnuz", "bf8fnuz"])
def test_scales_of_keys_and_values_differ_and_their_types_hold_the_data(key: str) -> None:
    for seed in range(5):
        case = f"attention_f16_{key}_{key}_f16_b1h8kv8s9t70d40_causal_scaled"
        problem, inputs = made(case, seed=seed)  # data that a type does not hold would be refused
        assert (inputs["k_scale"] != inputs["v_scale"]).all()
        assert len(np.unique(inputs["v_scale"])) > 1
        plan = plan_fill(problem, F32_ACCUMULATION, "exact", seed)
        assert certify(problem, plan, make_inputs(problem, plan), F32_ACCUMULATION).holds


def test_lengths_are_all_short_on_an_edge_and_none() -> None:
    _, inputs = made("attention_f32_b5h1kv1s3t130d32_full_padded")
    assert {129, 128, 130, 0} <= set(inputs["lengths"].tolist())


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("dtype", ["f32", "f16", "bf16"])
def test_fills_claim_bits_that_hold(dtype: str, shape: str) -> None:
    problem, _ = made(f"attention_{dtype}_{shape}")
    for fill in problem.operation.numerics.fills(problem):
        plan = plan_fill(problem, F32_ACCUMULATION, fill.name, 3)
        assert certify(problem, plan, make_inputs(problem, plan), F32_ACCUMULATION).holds == fill.exact


def test_too_many_keys_for_a_head_have_real_numbers_only() -> None:
    problem = parse_case_id("attention_f16_b1h1kv1s3t5000d32_full")
    assert [fill.name for fill in problem.operation.numerics.fills(problem)] == ["decimal"]


def test_with_lse_winners_keep_their_bits_and_decimals_say_how_many_do() -> None:
    problem = parse_case_id("attention_f16_b1h2kv1s40t70d40_causal_lse")
    inputs = make_inputs(problem, plan_fill(problem, F32_ACCUMULATION, "peaked", 0))
    _, bounds = bounded_results(problem, inputs, F32_ACCUMULATION)
    assert list(bounds) == ["lse"]
    inputs = make_inputs(problem, plan_fill(problem, F32_ACCUMULATION, "decimal", 0))
    _, bounds = bounded_results(problem, inputs, F32_ACCUMULATION)
    assert "of 3280 cells are round-safe: compared by bits" in round_safe(bounds)
