"""Explain cell by cell what makes PyTorch's attention red: ``python benchmarks/attention_causes.py OUT``.

Runs the smoke tier of suites/attention by each backend (examples/torch, ``--backends``), then each wrong case again
with its tensors kept. Each wrong tensor is computed anew as an implementation is known to do it, rounded where that
rounds:

- apart: queries and keys are multiplied by the square root of the scale, each alone, so that products of integers are
  none any more (``math``; by matmul in f32 on the same device, whose order of additions counts here);
- the fused ones keep o, rounded to its type, and lse in f32; the backward pass has weights of exp(logit - lse), and
  the sum of p dp from do . o. Slopes are rounded to the type of q before they are multiplied:

  - efficient: weights are rounded first, and slopes hold the scale;
  - flash: weights are powers of 2, whose scale and lse hold log2(e), and the scale comes last;
  - cudnn: slopes hold the scale, and a masked key has 65504 less, in the type of q, than an admitted one;
  - cudnn, strides cut: the same, and strides are cut to whole 16 bytes.

A wrong cell, by the verdict's own rule, is explained where a step gives its bits, or comes to it four times as near as
the reference. Of each tensor the step counts that explains most cells; luck explains wrong cells, but does not give the
bits of the right ones as well. Zeros of the other sign are counted apart. Prints a table in Markdown; OUT/causes.json
has every case. ``--no-run`` explains the tensors that an earlier run kept in OUT.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

import bitgate
from bitgate.model.host_tensor import HostTensor
from bitgate.operation import F32_ACCUMULATION
from bitgate.results.record import Outcome, Verdict, read
from bitgate.verify.bounds import bounded_results

ROOT = Path(__file__).resolve().parents[1]
BACKENDS = ("math", "efficient", "flash", "cudnn")
f32 = np.float32
LOG2_E = float(f32(1.4426950408889634))
LN_2 = float(f32(0.6931471805599453))
SHARE = 0.25
"""The share of a wrong cell's distance from the reference within which a step has to come to explain it."""
CUDNN_MASK = -65504.0
CUDNN_BYTES = 16
Cells = Mapping[str, np.ndarray]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out", type=Path)
    parser.add_argument("--backends", default=",".join(BACKENDS))
    parser.add_argument("--target", default="host")
    parser.add_argument("--no-run", action="store_true", help="Explain what an earlier run left in OUT.")
    asked = parser.parse_args()
    found = []
    for name in asked.backends.split(","):
        if not asked.no_run:
            run(name, asked.target, asked.out / name)
        found += list(of_backend(name, asked.target, asked.out / name))
    (asked.out / "causes.json").write_text(json.dumps(found, indent=1))
    print("| backend | case | data | tensor | wrong | explained | step | cells with its bits |")
    print("|---|---|---|---|---|---|---|---|")
    for one in found:
        known = f"| `{one['backend']}` | `{one['case']}` | {one['fill']}"
        if "reason" in one:
            print(f"{known} | | | | {one['reason']} | |")
        for role, cause in one.get("tensors", {}).items():
            signs = f"{cause['signs']} zeros of the other sign" if cause["signs"] else ""
            step = "; ".join(filter(None, (cause["step"], signs)))
            bits = f"{cause['same']} of {cause['cells']}" if cause["explained"] else ""
            print(f"{known} | {role} | {cause['wrong']} | {cause['explained']} | {step} | {bits} |")
    return 0


def words_of(name: str, target: str) -> list[str]:
    return ["--load", str(ROOT / "examples" / "torch"), "--option", f"backend={name}", "--target", target]


def red_of(target: str, out: Path) -> list[Verdict]:
    verdicts = read(out / target / "results.jsonl")
    return [one for one in verdicts if not one.green and one.outcome is not Outcome.REFUSED]


def run(name: str, target: str, out: Path) -> None:
    """Run the tier by a backend, and each wrong case again with its tensors kept."""
    words = words_of(name, target)
    bitgate_command(["run", str(ROOT / "suites" / "attention"), "--tier", "smoke", "-n", "4", *words], out)
    wrong = [one.key for one in red_of(target, out) if one.outcome is Outcome.MISMATCH]
    for fill in sorted({key.fill for key in wrong}):
        cases = [key.case for key in wrong if key.fill == fill]
        bitgate_command(["verify", *cases, "--fill", fill, "--dump", str(out / fill), *words], out / "verify")


def bitgate_command(words: list[str], out: Path) -> None:
    out.mkdir(parents=True, exist_ok=True)
    with (out / "said.txt").open("w") as said:
        command = [sys.executable, "-m", "bitgate", *words]
        subprocess.run(command, stdout=said, stderr=said, check=False, env={**os.environ, "BITGATE_OUT": str(out)})


def of_backend(name: str, target: str, out: Path) -> Iterator[dict[str, Any]]:
    """Yield what is known of each red verdict."""
    for one in red_of(target, out):
        sentence = one.diagnosis.sentence if one.diagnosis else ""
        known = {"backend": name, "case": one.key.case, "fill": one.key.fill, "sentence": sentence}
        kept = next((out / one.key.fill).glob(f"{one.key.case}__*"), None)
        if one.outcome is not Outcome.MISMATCH or kept is None:
            yield {**known, "reason": f"{one.outcome.value}: {reason_of(one)}"}
        else:
            yield {**known, "tensors": explained(one.key.case, kept, name)}


def reason_of(one: Verdict) -> str:
    return " ".join((one.reason or "").split())[:160]


def explained(case: str, kept: Path, backend: str) -> dict[str, dict[str, Any]]:
    """Return of each wrong tensor the step that explains most of its wrong cells, a backend's own one before others."""
    problem: Any = bitgate.problem(case)
    files = {file.stem: np.load(file) for file in kept.glob("*.npy")}
    inputs = {role: host_tensor(problem.tensors[role], files[role]) for role in problem.tensors if role in files}
    bounds = bounded_results(problem, inputs, F32_ACCUMULATION)[1]
    order = sorted(STEPS, key=lambda name: not name.startswith(backend))
    steps: dict[str, Cells] = {}
    causes = {}
    for role in problem.outputs:
        ending = "" if "result" in files else f"_{role}"
        result, reference = (files[f"{name}{ending}"] for name in ("result", "reference"))
        if role in bounds:
            wrong = bounds[role].outside(result.astype(problem.tensors[role].dtype.numpy))
        else:
            wrong = (result != reference) | (np.signbit(result) != np.signbit(reference))
        if wrong.any():
            steps = steps or {name: STEPS[name](problem, inputs) for name in order}
            causes[role] = cause_of(problem, role, (result, reference), wrong, steps)
    return causes


def host_tensor(tensor: Any, cells: np.ndarray) -> HostTensor:
    host = HostTensor.empty(tensor)
    host.logical[...] = cells.astype(tensor.dtype.numpy)
    return host


def cause_of(
    problem: Any, role: str, found: tuple[np.ndarray, np.ndarray], wrong: np.ndarray, steps: Mapping[str, Cells]
) -> dict[str, Any]:
    result, reference = (one.astype(float) for one in found)
    other = wrong & (result != reference)
    best: dict[str, Any] = {"step": "not explained" if other.any() else "", "explained": 0, "same": 0}
    for name, computed in steps.items() if other.any() else ():
        same = (rounded(problem, role, computed[role]) == result) | (np.isnan(computed[role]) & np.isnan(result))
        near = np.abs(computed[role] - result) <= SHARE * np.abs(reference - result)
        here = {"step": name, "explained": int((other & (same | near)).sum()), "same": int(same.sum())}
        best = max(best, here, key=lambda one: (one["explained"], one["same"] if one["explained"] else 0))
    return {"wrong": int(wrong.sum()), "cells": wrong.size, "signs": int((wrong & ~other).sum()), **best}


def rounded(problem: Any, role: str, cells: np.ndarray) -> np.ndarray:
    return to(problem.tensors[role].dtype.numpy, cells)


def to(dtype: Any, cells: Any) -> np.ndarray:
    """Round to a type, and return f64."""
    with np.errstate(over="ignore", invalid="ignore"):
        return np.asarray(cells).astype(dtype).astype(float)


def admitted(problem: Any, inputs: Mapping[str, HostTensor]) -> np.ndarray:
    """Return which keys each query sees, as attention of bitgate defines it (docs/attention.md)."""
    sizes = problem.sizes
    query, key = np.arange(sizes.s)[:, None] + sizes.t - sizes.s, np.arange(sizes.t)[None, :]
    seen = np.ones((sizes.b, 1, sizes.s, sizes.t), bool)
    if sizes.mask.value != "full":
        seen = seen & (key <= query)
    if sizes.mask.value == "window":
        seen = seen & (key > query - sizes.w)
    if sizes.padded:
        seen = seen & (key < inputs["lengths"].logical[:, None, None, None])
    return seen


def by_head(problem: Any, inputs: Mapping[str, HostTensor], view: Callable[[HostTensor], np.ndarray]) -> Cells:
    """Return q, k, v and do, with keys and values for each head of queries."""
    shared = problem.sizes.h // problem.sizes.kv
    cells = {role: view(inputs[role]) for role in ("q", "k", "v", "do") if role in inputs}
    return {role: one.repeat(shared, 1) if role in "kv" else one for role, one in cells.items()}


def as_stated(host: HostTensor) -> np.ndarray:
    return host.logical.astype(float)


def strides_cut(host: HostTensor) -> np.ndarray:
    """Read a tensor as if all strides but the last were whole multiples of 16 bytes."""
    tensor, storage = host.tensor, host.storage.astype(float)
    unit = CUDNN_BYTES // tensor.dtype.bytes
    strides = [stride // unit * unit for stride in tensor.strides[:-1]] + [tensor.strides[-1]]
    return np.lib.stride_tricks.as_strided(storage, tensor.lengths, [8 * stride for stride in strides])


def apart(problem: Any, inputs: Mapping[str, HostTensor]) -> Cells:
    cells = by_head(problem, inputs, as_stated)
    root = f32(problem.sizes.d**-0.25)
    logits = matmul(f32(cells["q"]) * root, (f32(cells["k"]) * root).swapaxes(-1, -2))
    logits = np.where(admitted(problem, inputs), logits, -np.inf)
    powers = np.exp(logits - largest(logits))
    total = powers.sum(-1, keepdims=True)
    weights = np.divide(powers, total, out=np.zeros_like(powers), where=total > 0).astype(f32)
    found = {"o": matmul(weights, cells["v"])}
    if "do" in cells:
        by_weight = cells["do"] @ cells["v"].swapaxes(-1, -2)
        slopes = weights * (by_weight - (weights * by_weight).sum(-1, keepdims=True)) / np.sqrt(problem.sizes.d)
        found |= {"dq": slopes @ cells["k"], "dk": slopes.swapaxes(-1, -2) @ cells["q"]}
        found["dv"] = matmul(weights.swapaxes(-1, -2), cells["do"])
    return found


def matmul(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Multiply in f32, on the GPU where there is one."""
    import torch

    device = "cuda" if torch.cuda.is_available() else "cpu"
    left, right = (torch.tensor(np.ascontiguousarray(one, f32), device=device) for one in (a, b))
    found: np.ndarray = (left @ right).cpu().numpy().astype(float)
    return found


def largest(logits: np.ndarray) -> np.ndarray:
    """Return the largest logit of each query, and 0 where it admits no key."""
    most = logits.max(-1, keepdims=True)
    return np.where(np.isneginf(most), 0, most)


@dataclass(frozen=True)
class Fused:
    """What an implementation does that keeps o and lse, and no weights."""

    masked: float = -np.inf
    """What is added to the logit of a masked key, in the type of q."""
    forward_base_2: bool = False
    """Logits hold log2(e) in the forward pass."""
    backward_base_2: bool = False
    weights_rounded: bool = False
    """Slopes are made of rounded weights."""
    scale_last: bool = False
    """Slopes are rounded without the scale."""
    view: Callable[[HostTensor], np.ndarray] = as_stated

    @np.errstate(invalid="ignore", divide="ignore")
    def __call__(self, problem: Any, inputs: Mapping[str, HostTensor]) -> Cells:
        cells, own = by_head(problem, inputs, self.view), problem.tensors["q"].dtype.numpy
        scale = to(f32, problem.sizes.d**-0.5)
        added = np.where(admitted(problem, inputs), 0, to(own, self.masked))
        products = to(f32, cells["q"] @ cells["k"].swapaxes(-1, -2))
        logits = to(f32, to(f32, products * scale) + added)
        powers, lse = self.forward(logits)
        total = powers.sum(-1, keepdims=True)
        is_none = total == 0
        o = np.where(is_none, 0, to(own, powers) @ cells["v"] / total)
        if "do" not in cells:
            return {"o": o}
        if self.backward_base_2:
            of_2 = products * to(f32, scale * LOG2_E) - to(f32, lse * LOG2_E)
            weights = np.where(is_none, 0, np.exp2(to(f32, of_2) + added))
        else:
            weights = np.where(is_none, 0, np.exp(to(f32, logits - lse)))
        sums = (cells["do"] * to(own, o)).sum(-1, keepdims=True)
        slopes = cells["do"] @ cells["v"].swapaxes(-1, -2) - sums
        slopes *= to(own, weights) if self.weights_rounded else weights
        slopes = to(own, slopes) * scale if self.scale_last else to(own, slopes * scale)
        return {
            "dq": slopes @ cells["k"],
            "dk": slopes.swapaxes(-1, -2) @ cells["q"],
            "dv": to(own, weights).swapaxes(-1, -2) @ cells["do"],
        }

    def forward(self, logits: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the powers of logits less the largest, and lse."""
        if not self.forward_base_2:
            most = largest(logits)
            powers = np.exp(logits - most)
            return powers, to(f32, most + np.log(powers.sum(-1, keepdims=True)))
        of_2 = to(f32, logits * LOG2_E)
        most = largest(of_2)
        powers = np.exp2(of_2 - most)
        return powers, to(f32, most * LN_2 + np.log(powers.sum(-1, keepdims=True)))


STEPS: dict[str, Callable[[Any, Mapping[str, HostTensor]], Cells]] = {
    "apart": apart,
    "efficient": Fused(weights_rounded=True),
    "flash": Fused(backward_base_2=True, scale_last=True),
    "cudnn": Fused(masked=CUDNN_MASK, forward_base_2=True),
    "cudnn, strides cut": Fused(masked=CUDNN_MASK, forward_base_2=True, view=strides_cut),
}


if __name__ == "__main__":
    sys.exit(main())
