"""Only the last channels are wrong: a tail that does not fill a vector or a tile."""

from __future__ import annotations

from bitgate.model import Problem
from bitgate.model.finding import Finding, Role
from bitgate.verify.diagnose.scene import Scene

VECTORS = (2, 4, 8, 16, 32, 64, 128, 256)


def tail_along(scene: Scene[Problem], axis: int, along: str = "") -> Finding | None:
    """Return the finding for channels along ``axis`` of the result; ``along`` is as in ``Finding``."""
    wrong = scene.wrong_along(axis)
    first = int(wrong.argmax())
    if first == 0 or not wrong[first:].all():
        return None
    channels, length = scene.channels, scene.result.shape[axis]
    if axis == scene.channel_axis and channels is not None:
        first, length = channels[first], scene.problem.tensors[scene.problem.result].lengths[axis]
    tail = length - first
    if 2 * tail > length or scene.by_chance(tail / length):
        return None
    name = scene.letters[axis].upper()
    # The widest vector whose remainder this is says which access lost its tail.
    vector = next((v for v in reversed(VECTORS) if v < length and length % v == tail), None)
    why = f" ({name} mod {vector} = {tail})" if vector else ""
    noun = f"channel of {name}" if tail == 1 else f"{tail} channels of {name}"
    evidence = {"axis": name, "channels": length, "first_wrong": first, "tail": tail}
    text = f"only in the last {noun} = {length}{why}"
    return Finding("channel_tail", Role.PLACE, 0.95 if vector else 0.7, text, evidence, along=along)
