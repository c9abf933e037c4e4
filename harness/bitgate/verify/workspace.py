"""Is the workspace that a library asks for what its declaration says? Asked before anything is allocated."""

from __future__ import annotations

from bitgate.kernel.declaration import Dispatch
from bitgate.model import Problem

MOST = 16
"""Times the tensors' bytes: what a library may ask for that nobody predicted. Split-K of a small result over many
slices comes to a few times its tensors; an index that overflowed comes to thousands."""


def workspace_disagreement(problem: Problem, size: int, predicted: Dispatch | None) -> str:
    """One sentence if the library's size is not to be believed, empty if it is."""
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
