"""Does what the library says it ran agree with what the problem needs and what the declaration predicts?"""

from __future__ import annotations

from functools import lru_cache

from bitgate.kernel.declaration import Dispatch
from bitgate.kernel.dispatch import DispatchRecord, SubGemmRecord
from bitgate.problem import ConvProblem, Pass, sub_gemms

PREDICTED = ("path", "gemms_count", "launches", "buckets", "zero_fill")
MOST = 3
"""Disagreements spelled out before the rest is counted."""


def dispatch_disagreement(
    problem: ConvProblem, record: DispatchRecord, predicted: Dispatch | None, decomposes: bool
) -> str:
    """One sentence naming what differs, empty if nothing does.

    The prediction holds whatever the options, if there is one. With ``decomposes`` the record must also cover the
    sub-GEMMs, one by one: for kernels that split bwd_data, under production options (with another option a path may
    be wrong on purpose).
    """
    differences = _against_prediction(record, predicted) if predicted is not None else []
    if decomposes and problem.direction is Pass.BWD_DATA and record.sub_gemms:
        differences += _against_problem(problem, record)
    if not differences:
        return ""
    more = f"; {len(differences) - MOST} more" if len(differences) > MOST else ""
    return f"the dispatch record is not what the problem needs: {'; '.join(differences[:MOST])}{more}"


def _against_prediction(record: DispatchRecord, predicted: Dispatch) -> list[str]:
    return [
        f"{name} is {getattr(record, name)}, predicted {getattr(predicted, name)}"
        for name in PREDICTED
        if getattr(record, name) != getattr(predicted, name)
    ]


def _against_problem(problem: ConvProblem, record: DispatchRecord) -> list[str]:
    needed = _needed(problem)
    differences: list[str] = []
    if record.gemms_count != len(needed):
        differences.append(f"gemms_count is {record.gemms_count}, the problem has {len(needed)} sub-GEMMs")
    if len(record.sub_gemms) != len(needed):
        return [*differences, f"{len(record.sub_gemms)} sub-GEMMs are listed, the problem has {len(needed)}"]
    # A kernel may run a problem of one sub-GEMM as a plain convolution, with M rows of its own.
    for index, (told, must) in enumerate(zip(record.sub_gemms, needed, strict=True)):
        if not told.launched:
            differences.append(f"sub-GEMM {index} was not launched")
        elif (found := _shape(told)) != must and not (len(needed) == 1 and found[3:] == must[3:]):
            differences.append(f"sub-GEMM {index} has {_words(found)}, the problem needs {_words(must)}")
    return differences


Shape = tuple[tuple[int, ...], tuple[int, ...], int, int, int]


@lru_cache(maxsize=256)
def _needed(problem: ConvProblem) -> tuple[Shape, ...]:
    return tuple((gemm.tilde, gemm.taps, gemm.m, gemm.n, gemm.k) for gemm in sub_gemms(problem))


def _shape(told: SubGemmRecord) -> Shape:
    return told.tilde, told.taps, told.m, told.n, told.k


def _words(shape: Shape) -> str:
    tilde, taps, m, n, k = shape
    return f"tilde {tilde}, taps {taps}, M {m}, N {n}, K {k}"
