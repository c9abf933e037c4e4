"""Explain cell by cell what makes PyTorch's attention red: ``python benchmarks/attention_causes.py OUT``.

Runs the smoke tier of suites/attention by each backend (examples/torch, ``--backends``), then each wrong case again
with its tensors kept. Each wrong tensor is computed anew as an implementation is known to do it, rounded where that
rounds:

- apart: queries and keys are multiplied by the square root of the scale, each alone, so that products of integers are
  none any more (``math``; by PyTorch's matmul and softmax in f32 on the same device, whose order of additions counts);
- the fused ones keep o, rounded to its type, and lse in f32; the backward pass has weights of exp(logit - lse), and
  the sum of p dp from do . o. Slopes are rounded to the type of q before they are multiplied:

  - efficient: weights are rounded first, and slopes hold the scale; dv of f32 is a sum of three TF32 products for
    each (benchmarks/tensor_core.py);
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
import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import tensor_core
from causes import ROOT, Cells, Kept, bitgate_command, each_kept, reason_of, red_of, to, verify_again, words_of

from bitgate.model.host_tensor import HostTensor

BACKENDS = ("math", "efficient", "flash", "cudnn")
f32 = np.float32
LOG2_E = float(f32(1.4426950408889634))
LN_2 = float(f32(0.6931471805599453))
CUDNN_MASK = -65504.0
CUDNN_BYTES = 16


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


def run(name: str, target: str, out: Path) -> None:
    """Run the tier by a backend, and each wrong case again with its tensors kept."""
    words = words_of(target, [("backend", name)])
    bitgate_command(["run", str(ROOT / "suites" / "attention"), "--tier", "smoke", "-n", "4", *words], out)
    verify_again(red_of(out / target), out)


def of_backend(name: str, target: str, out: Path) -> Iterator[dict[str, Any]]:
    """Yield what is known of each red verdict."""
    for one, kept in each_kept(red_of(out / target), out):
        sentence = one.diagnosis.sentence if one.diagnosis else ""
        known = {"backend": name, "case": one.key.case, "fill": one.key.fill, "sentence": sentence}
        if kept is None:
            yield {**known, "reason": reason_of(one)}
        else:
            yield {**known, "tensors": explained(one.key.case, kept, name)}


def explained(case: str, folder: Path, backend: str) -> dict[str, dict[str, Any]]:
    """Return of each wrong tensor the step that explains most of its wrong cells, a backend's own one before others."""
    kept = Kept(case, folder)
    order = sorted(STEPS, key=lambda name: not name.startswith(backend))
    steps: dict[str, Cells] = {}
    found = {}
    for role in kept.problem.outputs:
        counts = kept.counts(role)
        if counts["wrong"]:
            steps = steps or {name: STEPS[name](kept.problem, kept.inputs) for name in order}
            best = next((one for one in kept.causes(role, steps) if one["explained"]), None)
            none = {"step": "not explained" if counts["wrong"] > counts["signs"] else "", "explained": 0, "same": 0}
            found[role] = {**counts, **(best or none)}
    return found


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
    import torch

    cells = {role: on_device(inputs[role]) for role in ("q", "k", "v", "do") if role in inputs}
    shared = problem.sizes.h // problem.sizes.kv
    if shared > 1:
        cells |= {role: cells[role].repeat_interleave(shared, 1) for role in "kv"}
    root = problem.sizes.d**-0.25
    seen = torch.tensor(admitted(problem, inputs), device=cells["q"].device)
    logits = ((cells["q"] * root) @ (cells["k"] * root).mT).masked_fill(~seen, -torch.inf)
    weights = torch.softmax(logits, -1).masked_fill(~seen.any(-1, keepdim=True), 0)
    found = {"o": weights @ cells["v"]}
    if "do" in cells:
        wide = {role: one.double() for role, one in cells.items()}
        by_weight = wide["do"] @ wide["v"].mT
        slopes = weights * (by_weight - (weights * by_weight).sum(-1, keepdim=True)) / problem.sizes.d**0.5
        found |= {"dq": slopes @ wide["k"], "dk": slopes.mT @ wide["q"], "dv": weights.mT @ cells["do"]}
    return {role: one.cpu().numpy().astype(float) for role, one in found.items()}


def on_device(host: HostTensor) -> Any:
    """Return a tensor of PyTorch in f32, on the GPU where there is one, whose strides are those of PyTorch's own.

    Its matmul chooses the order of additions by them.
    """
    import torch

    tensor = host.tensor
    own = {"f32": torch.float32, "f16": torch.float16, "bf16": torch.bfloat16}[tensor.dtype.name]
    device = "cuda" if torch.cuda.is_available() else "cpu"
    storage = torch.tensor(np.asarray(host.storage, f32)).to(device, own)
    return storage.as_strided(tensor.lengths, tensor.strides).float()


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
    in_three: bool = False
    """dv is a sum of f32 products that are each made of three TF32 products (tensor_core.py)."""
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
        product = tensor_core.matmul if self.in_three and own == f32 else np.matmul
        return {
            "dq": slopes @ cells["k"],
            "dk": slopes.swapaxes(-1, -2) @ cells["q"],
            "dv": product(to(own, weights).swapaxes(-1, -2), cells["do"]),
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
    "efficient": Fused(weights_rounded=True, in_three=True),
    "flash": Fused(backward_base_2=True, scale_last=True),
    "cudnn": Fused(masked=CUDNN_MASK, forward_base_2=True),
    "cudnn, strides cut": Fused(masked=CUDNN_MASK, forward_base_2=True, view=strides_cut),
}


if __name__ == "__main__":
    sys.exit(main())
