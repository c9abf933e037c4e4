"""Explain cell by cell what makes PyTorch's attention red: ``python benchmarks/attention_causes.py OUT``.

Runs the smoke tier of suites/attention by each backend (examples/torch, ``--backends``), then each wrong case again
with its tensors kept. Weights are computed anew with one step of a known implementation, which is rounded to f32 as it
is there, and from them each tensor that differs:

- apart: queries and keys are multiplied by the square root of the scale, each alone, so that products of integers are
  none any more (``math``; by matmul in f32 on the same device, whose order of additions counts here);
- saved: the backward pass has weights of ``exp(logit - lse)``, lse rounded to f32 (``efficient``, ``flash``,
  ``cudnn``);
- folded: the same with base 2, whose scale and lse hold log2(e);
- unmasked: all keys are let in.

A wrong cell is explained by the first step that gives its bits, or comes to it four times as near as the reference.
Prints a table in Markdown; OUT/causes.json has every case.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np

import bitgate
from bitgate.results.record import Outcome, Verdict, read

ROOT = Path(__file__).resolve().parents[1]
BACKENDS = ("math", "efficient", "flash", "cudnn")
LOG2_E = 1.4426950408889634
SHARE = 0.25
"""The share of a wrong cell's distance from the reference within which a step has to come to explain it."""
f32 = np.float32


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out", type=Path)
    parser.add_argument("--backends", default=",".join(BACKENDS))
    parser.add_argument("--target", default="host")
    asked = parser.parse_args()
    found = [one for name in asked.backends.split(",") for one in of_backend(name, asked.target, asked.out / name)]
    (asked.out / "causes.json").write_text(json.dumps(found, indent=1))
    print("| backend | case | data | wrong | explained |\n|---|---|---|---|---|")
    for one in found:
        said = one.get("reason") or "; ".join(f"{count} {name}" for name, count in one["explained"].items())
        wrong = "; ".join(f"{count} of {role}" for role, count in one.get("wrong", {}).items())
        print(f"| `{one['backend']}` | `{one['case']}` | {one['fill']} | {wrong} | {said} |")
    return 0


def of_backend(name: str, target: str, out: Path) -> Iterator[dict[str, Any]]:
    """Run the tier by a backend, and yield what is known of each red verdict."""
    words = ["--load", str(ROOT / "examples" / "torch"), "--option", f"backend={name}", "--target", target]
    bitgate_command(["run", str(ROOT / "suites" / "attention"), "--tier", "smoke", "-n", "4", *words], out)
    verdicts = read(out / target / "results.jsonl")
    red = [one for one in verdicts if not one.green and one.outcome is not Outcome.REFUSED]
    for fill in sorted({one.key.fill for one in red if one.outcome is Outcome.MISMATCH}):
        cases = [one.key.case for one in red if one.key.fill == fill and one.outcome is Outcome.MISMATCH]
        bitgate_command(["verify", *cases, "--fill", fill, "--dump", str(out / fill), *words], out / "verify")
    for one in red:
        sentence = one.diagnosis.sentence if one.diagnosis else ""
        known = {"backend": name, "case": one.key.case, "fill": one.key.fill, "sentence": sentence}
        kept = next((out / one.key.fill).glob(f"{one.key.case}__*"), None)
        if one.outcome is not Outcome.MISMATCH or kept is None:
            yield {**known, "reason": f"{one.outcome.value}: {reason_of(one)}"}
        else:
            yield {**known, **explained(one.key.case, kept, outputs_of(one))}


def bitgate_command(words: list[str], out: Path) -> None:
    out.mkdir(parents=True, exist_ok=True)
    with (out / "said.txt").open("w") as said:
        command = [sys.executable, "-m", "bitgate", *words]
        subprocess.run(command, stdout=said, stderr=said, check=False, env={**os.environ, "BITGATE_OUT": str(out)})


def reason_of(one: Verdict) -> str:
    return " ".join((one.reason or "").split())[:160]


def outputs_of(one: Verdict) -> set[str]:
    """Return the tensors that are wrong by their own rule: others may differ from the reference within their bounds."""
    evidence = one.diagnosis.evidence if one.diagnosis else {}
    return {str(evidence.get("output", "o")), *map(str, evidence.get("wrong_too", ()))}


def explained(case: str, kept: Path, outputs: set[str]) -> dict[str, Any]:
    """Return of each of these tensors how many cells differ, and how many of them each step explains."""
    tensors = {file.stem: np.load(file).astype(np.float64) for file in kept.glob("*.npy")}
    problem: Any = bitgate.problem(case)
    wrong: dict[str, int] = {}
    counts: dict[str, int] = {}
    for name in sorted(tensors):
        if not name.startswith("result"):
            continue
        role = name.removeprefix("result").removeprefix("_") or "o"
        if role not in outputs:
            continue
        result, reference = tensors[name], tensors[name.replace("result", "reference")]
        differs = (result != reference) | (np.signbit(result) != np.signbit(reference))
        if not differs.any():
            continue
        wrong[role] = int(differs.sum())
        left = differs & (result != reference)
        signs = int((differs & ~left).sum())
        if signs:
            counts["signs of zeros"] = counts.get("signs of zeros", 0) + signs
        for step, weights in STEPS.items():
            computed = product(role, weights(problem, tensors), problem, tensors)
            rounded = computed.astype(problem.tensors[role].dtype.numpy).astype(float)
            here = left & ((rounded == result) | (np.abs(computed - result) <= SHARE * np.abs(reference - result)))
            if here.any():
                counts[step] = counts.get(step, 0) + int(here.sum())
                left &= ~here
        if left.any():
            counts[f"not explained of {role}"] = int(left.sum())
    return {"wrong": wrong, "explained": counts}


def product(role: str, weights: np.ndarray, problem: Any, tensors: Mapping[str, np.ndarray]) -> np.ndarray:
    """Return one result of attention with these weights; in f32 if they are, by the device's own order of additions."""
    q, k, v = by_head(problem, tensors)
    if role == "o":
        return matmul(weights, v)
    do = tensors["do"]
    if role == "dv":
        return matmul(weights.swapaxes(-1, -2), do)
    by_weight = do @ v.swapaxes(-1, -2)
    total = (weights * by_weight).sum(-1, keepdims=True)
    logits = weights * (by_weight - total) / np.sqrt(problem.sizes.d)
    found: np.ndarray = logits @ k if role == "dq" else logits.swapaxes(-1, -2) @ q
    return found


def matmul(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Multiply in the type of ``a``, f32 on the GPU where there is one."""
    import torch

    device = "cuda" if a.dtype == f32 and torch.cuda.is_available() else "cpu"
    left, right = (torch.tensor(np.ascontiguousarray(one), device=device) for one in (a, b.astype(a.dtype)))
    found: np.ndarray = (left @ right).cpu().numpy().astype(float)
    return found


def by_head(problem: Any, tensors: Mapping[str, np.ndarray]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    shared = problem.sizes.h // problem.sizes.kv
    return tensors["q"], tensors["k"].repeat(shared, 1), tensors["v"].repeat(shared, 1)


def admitted(problem: Any, tensors: Mapping[str, np.ndarray]) -> np.ndarray:
    """Return which keys each query sees, as attention of bitgate defines it (docs/attention.md)."""
    sizes = problem.sizes
    query, key = np.arange(sizes.s)[:, None] + sizes.t - sizes.s, np.arange(sizes.t)[None, :]
    seen = np.ones((1, 1, sizes.s, sizes.t), bool)
    if sizes.mask.value != "full":
        seen = seen & (key <= query)
    if sizes.mask.value == "window":
        seen = seen & (key > query - sizes.w)
    if sizes.padded:
        seen = seen & (key < tensors["lengths"].astype(int)[:, None, None, None])
    return seen


@np.errstate(over="ignore", invalid="ignore")
def softmax(logits: np.ndarray, seen: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the weights in f64, and the logarithm of what they were divided by."""
    logits = np.where(seen, logits, -np.inf)
    most = logits.max(-1, keepdims=True)
    most = np.where(np.isfinite(most), most, 0)
    powers = np.exp(logits - most)
    total = powers.sum(-1, keepdims=True)
    with np.errstate(divide="ignore", invalid="ignore"):
        weights: np.ndarray = np.where(total > 0, powers / total, 0)
        return weights, most + np.log(total)


def apart(problem: Any, tensors: Mapping[str, np.ndarray]) -> np.ndarray:
    q, k, _ = by_head(problem, tensors)
    root = f32(problem.sizes.d**-0.25)
    weights, _ = softmax(matmul(f32(q) * root, (f32(k) * root).swapaxes(-1, -2)), admitted(problem, tensors))
    return weights.astype(f32)


def saved(problem: Any, tensors: Mapping[str, np.ndarray]) -> np.ndarray:
    q, k, _ = by_head(problem, tensors)
    seen = admitted(problem, tensors)
    logits = (f32(q @ k.swapaxes(-1, -2)) * f32(problem.sizes.d**-0.5)).astype(float)
    lse = f32(softmax(logits, seen)[1]).astype(float)
    return np.exp(np.where(seen & np.isfinite(lse), f32(logits - lse).astype(float), -np.inf))


def folded(problem: Any, tensors: Mapping[str, np.ndarray]) -> np.ndarray:
    q, k, _ = by_head(problem, tensors)
    seen = admitted(problem, tensors)
    logits = f32(q @ k.swapaxes(-1, -2)).astype(float)
    scale = float(f32(problem.sizes.d**-0.5))
    lse = f32(softmax(f32(logits * scale).astype(float), seen)[1])
    of_two = (lse * f32(LOG2_E)).astype(float)
    return np.exp2(np.where(seen & np.isfinite(of_two), f32(logits * float(f32(scale * LOG2_E)) - of_two), -np.inf))


def unmasked(problem: Any, tensors: Mapping[str, np.ndarray]) -> np.ndarray:
    q, k, _ = by_head(problem, tensors)
    return softmax(q @ k.swapaxes(-1, -2) / np.sqrt(problem.sizes.d), np.ones((1, 1, 1, 1), bool))[0]


STEPS: dict[str, Callable[[Any, Mapping[str, np.ndarray]], np.ndarray]] = {
    "apart": apart,
    "saved": saved,
    "folded": folded,
    "unmasked": unmasked,
}


if __name__ == "__main__":
    sys.exit(main())
