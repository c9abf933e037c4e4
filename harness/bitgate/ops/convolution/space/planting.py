"""Numbers of a convolution that a planted bug may depend on, in the C++ of our kernels' ``run``."""

from __future__ import annotations

from bitgate.model.space.planting import Plantable

_LENGTHS = ("== 1", "> 1", "> 2", "% 2 != 0")
_CHANNELS = ("== 1", "> 1", "< 8", "> 8", "% 8 != 0", "% 8 == 0", "% 2 != 0", "> 32")


def _axis(name: str, field: str, axis: int, relations: tuple[str, ...]) -> Plantable:
    return Plantable(name, f"shape.{field}[{axis}]", lambda batch: getattr(batch, field)[:, axis], relations)


PLANTABLE: tuple[Plantable, ...] = (
    Plantable("ndim", "problem.ndim", lambda b: b.ndim, ("== 1", "== 2", "== 3", "> 1", "< 3")),
    Plantable("G", "shape.groups", lambda b: b.g, ("== 1", "> 1", "== 2", "> 2")),
    Plantable("N", "shape.images", lambda b: b.n, ("== 1", "> 1", "> 2", "% 2 != 0", "> 3")),
    Plantable("K", "shape.k", lambda b: b.k, _CHANNELS),
    Plantable("C", "shape.c", lambda b: b.c, _CHANNELS),
    _axis("Fy", "filter", 1, ("== 1", "> 1", "== 3", "% 2 == 0")),
    _axis("Fx", "filter", 2, ("== 1", "> 1", "== 3", "% 2 == 0")),
    _axis("Sy", "stride", 1, ("== 1", "> 1", "== 2", "> 2")),
    _axis("Sx", "stride", 2, ("== 1", "> 1", "== 2", "> 2")),
    _axis("Dy", "dilation", 1, ("== 1", "> 1", "== 2")),
    _axis("Dx", "dilation", 2, ("== 1", "> 1", "== 2")),
    _axis("Py", "left_pad", 1, ("== 0", "> 0", "> 1")),
    _axis("Px", "left_pad", 2, ("== 0", "> 0", "> 1")),
    Plantable("Qx", "problem.right_pad[problem.ndim - 1]", lambda b: b.right_pad[:, 2], ("== 0", "> 0", "> 1")),
    _axis("Iy", "input", 1, _LENGTHS),
    _axis("Ix", "input", 2, _LENGTHS),
    _axis("Oy", "output", 1, _LENGTHS),
    _axis("Ox", "output", 2, _LENGTHS),
    Plantable("NumD", "problem.num_d", lambda b: b.num_d, ("== 0", "> 0")),
)
