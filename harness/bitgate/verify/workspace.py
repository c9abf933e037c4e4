"""Check of the workspace that a library requests against its declaration, before anything is allocated."""

from __future__ import annotations

from bitgate.kernel.declaration import Dispatch
from bitgate.model import Problem

MOST = 16
"""Largest workspace, in multiples of the tensors' bytes, that a library may request without a prediction. Split-K of a
small result over many slices takes a few times its tensors; an index that overflowed asks for thousands of times as
much."""


def workspace_disagreement(problem: Problem, size: int, predicted: Dispatch | None) -> str:
    """Return one sentence if the library's size is not plausible, empty if it is."""
    if predicted is not None:
        if size == predicted.workspace_bytes:
            return ""
        return f"bitgate_workspace_size asks for {size} bytes of workspace, predicted {predicted.workspace_bytes}"
    tensors = sum(tensor.bytes for tensor in problem.tensors.values())
    if size <= MOST * tensors:
        return ""
    return (
        f"bitgate_workspace_size asks for {size} bytes of workspace, more than {MOST} times the tensors' {tensors}:"
        " if that is meant, have the declaration's dispatch predict workspace_bytes"
    )
