"""Wrong tensors of a vendor's kernels, kept, and held against tensors that are computed as a cause would leave them."""

from __future__ import annotations

import os
import subprocess
import sys
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

import bitgate
from bitgate.model.host_tensor import HostTensor
from bitgate.operation import F32_ACCUMULATION
from bitgate.results.record import Key, Outcome, Verdict, read
from bitgate.verify.bounds import bounded_results

ROOT = Path(__file__).resolve().parents[1]
SHARE = 0.25
"""The share of a wrong cell's distance from the reference within which a step has to come to explain it."""
Cells = Mapping[str, np.ndarray]


def words_of(target: str, options: Iterable[tuple[str, str]]) -> list[str]:
    """Return the words that select PyTorch's kernels."""
    stated = [word for name, value in options for word in ("--option", f"{name}={value}")]
    return ["--load", str(ROOT / "examples" / "torch"), *stated, "--target", target]


def bitgate_command(words: list[str], out: Path) -> None:
    out.mkdir(parents=True, exist_ok=True)
    with (out / "said.txt").open("w") as said:
        command = [sys.executable, "-m", "bitgate", *words]
        subprocess.run(command, stdout=said, stderr=said, check=False, env={**os.environ, "BITGATE_OUT": str(out)})


def red_of(folder: Path) -> list[Verdict]:
    """Return the red verdicts of a run's folder, each case's last one."""
    last = {one.key: one for one in read(folder / "results.jsonl")}
    return [one for one in last.values() if not one.green and one.outcome is not Outcome.REFUSED]


def verify_again(red: Iterable[Verdict], out: Path) -> None:
    """Run each wrong case again, and keep its tensors in OUT."""
    groups: dict[tuple[Path, tuple[str, ...]], list[str]] = defaultdict(list)
    for one in red:
        if one.outcome is Outcome.MISMATCH:
            words = ("--fill", one.key.fill, "--seed", str(one.key.seed), *words_of(one.key.target, one.key.options))
            groups[kept_of(one.key, out), words].append(one.key.case)
    for (folder, words), cases in groups.items():
        bitgate_command(["verify", *cases, "--dump", str(folder), *words], out / "verify")


def kept_of(key: Key, out: Path) -> Path:
    return out / (f"{key.fill}_{key.seed}" if key.seed else key.fill)


def each_kept(red: Iterable[Verdict], out: Path) -> Iterator[tuple[Verdict, Path | None]]:
    """Yield each red verdict with the folder of its tensors, or with None where it has none."""
    for one in red:
        kept = next(kept_of(one.key, out).glob(f"{one.key.case}__*"), None)
        yield one, kept if one.outcome is Outcome.MISMATCH else None


def reason_of(one: Verdict) -> str:
    return f"{one.outcome.value}: {' '.join((one.reason or '').split())[:160]}"


class Kept:
    """A case's tensors as ``bitgate verify --dump`` leaves them."""

    def __init__(self, case: str, folder: Path) -> None:
        self.problem: Any = bitgate.problem(case)
        self._files = {file.stem: np.load(file) for file in folder.glob("*.npy")}
        tensors = self.problem.tensors
        self.inputs = {role: host_tensor(tensors[role], self._files[role]) for role in tensors if role in self._files}

    def of(self, role: str) -> tuple[np.ndarray, np.ndarray]:
        """Return a tensor's result and reference, in f64."""
        ending = "" if "result" in self._files else f"_{role}"
        result, reference = (self._files[f"{name}{ending}"].astype(float) for name in ("result", "reference"))
        return result, reference

    def rounded(self, role: str, cells: np.ndarray) -> np.ndarray:
        return to(self.problem.tensors[role].dtype.numpy, cells)

    def wrong(self, role: str, cells: np.ndarray) -> np.ndarray:
        """Return which cells are wrong by the verdict's own rule."""
        if role in self._bounds:
            with np.errstate(over="ignore", invalid="ignore"):
                return np.asarray(self._bounds[role].outside(cells.astype(self.problem.tensors[role].dtype.numpy)))
        _, reference = self.of(role)
        return np.asarray((cells != reference) | (np.signbit(cells) != np.signbit(reference)))

    @cached_property
    def _bounds(self) -> Mapping[str, Any]:
        return bounded_results(self.problem, self.inputs, F32_ACCUMULATION)[1]

    def causes(self, role: str, steps: Mapping[str, Cells]) -> list[dict[str, Any]]:
        """Return what each step explains of a tensor, most first; none where zeros of the other sign alone are wrong.

        ``explained`` counts wrong cells to which the step gives their bits, or comes four times as near as the
        reference; ``same`` all cells that have the step's bits, and ``made`` the cells that the step makes wrong.
        """
        result, reference = self.of(role)
        other = self.wrong(role, result) & (result != reference)
        found = []
        for name, computed in steps.items() if other.any() else ():
            cells = self.rounded(role, computed[role])
            same = (cells == result) | (np.isnan(cells) & np.isnan(result))
            with np.errstate(invalid="ignore"):
                near = np.abs(computed[role] - result) <= SHARE * np.abs(reference - result)
            counts = {"explained": other & (same | near), "same": same, "made": self.wrong(role, cells)}
            found.append({"step": name} | {word: int(mask.sum()) for word, mask in counts.items()})
        return sorted(found, key=lambda one: (one["explained"], one["same"]), reverse=True)

    def counts(self, role: str) -> dict[str, int]:
        """Return the cells of a tensor, those that are wrong, and the zeros of the other sign among them."""
        result, reference = self.of(role)
        wrong = self.wrong(role, result)
        return {"wrong": int(wrong.sum()), "cells": wrong.size, "signs": int((wrong & (result == reference)).sum())}


def host_tensor(tensor: Any, cells: np.ndarray) -> HostTensor:
    host = HostTensor.empty(tensor)
    host.logical[...] = cells.astype(tensor.dtype.numpy)
    return host


def to(dtype: Any, cells: Any) -> np.ndarray:
    """Round to a type, and return f64."""
    with np.errstate(over="ignore", invalid="ignore"):
        return np.asarray(cells).astype(dtype).astype(float)
