"""Comparison of the library's dispatch record with what the problem needs and what the declaration predicts."""

from __future__ import annotations

from bitgate.kernel.declaration import Dispatch
from bitgate.kernel.dispatch import DispatchRecord
from bitgate.model import Problem

MOST = 3
"""The number of disagreements that are listed; the rest are counted."""


def dispatch_disagreement(
    problem: Problem, record: DispatchRecord, predicted: Dispatch | None, decomposes: bool
) -> str:
    """Return one sentence that names what differs, empty if nothing does.

    A prediction holds whatever the options. With ``decomposes`` the record must also cover the parts of the problem,
    one by one: for kernels that decompose it, under production options (with another option a path may be wrong on
    purpose).
    """
    differences = _against_prediction(record, predicted) if predicted is not None else []
    if decomposes:
        differences += problem.operation.diagnostics.launch_errors(problem, record)
    if not differences:
        return ""
    more = f"; {len(differences) - MOST} more" if len(differences) > MOST else ""
    return f"the dispatch record is not what the problem needs: {'; '.join(differences[:MOST])}{more}"


def _against_prediction(record: DispatchRecord, predicted: Dispatch) -> list[str]:
    recorded = record.summary()
    return [
        f"{name} is {recorded.get(name)}, predicted {value}"
        for name, value in predicted.stated.items()
        if recorded.get(name) != value
    ]
