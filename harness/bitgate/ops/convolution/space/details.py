"""Classes of single axes, tensors and coincidences of a convolution, which a solved tier combines."""

from __future__ import annotations

from math import prod

from bitgate.model.space import details, epilogues
from bitgate.model.space.details import Cut, Details
from bitgate.ops.convolution.layout import INPUT_LAYOUTS, WEIGHT_LAYOUTS
from bitgate.ops.convolution.problem import ConvProblem, Pass

AXES = "dhw"
"""The axes by name, the last one first in use."""


def details_of(problem: ConvProblem, cut: Cut) -> Details:
    """Return the classes of a problem, by factor, as an instance with this cut sees it."""
    p = problem
    found: Details = {"n": details.few(p.n, 5), "n_mod": details.parity(p.n), "g": _groups(p.g)}
    found |= details.length("k", p.k) | details.length("c", p.c)
    found["layout"] = str(INPUT_LAYOUTS[p.ndim].index(p.layout))
    found["wei_layout"] = str(WEIGHT_LAYOUTS[p.ndim].index(p.wei_layout))
    found |= {"op": p.op.name, "in_op": p.in_op.name, "wei_op": p.wei_op.name} | epilogues.classes(p)
    for axis in range(3):
        found |= _axis(p, axis - 3 + p.ndim, AXES[axis])
    found |= details.gaps(p)
    found.setdefault("gap_d0", "no d0")
    found["gaps"] = details.tensors_with_gaps(p)
    found["unequal"] = _unequal(p)
    rows, columns, steps = _gemm(p, cut)
    found |= details.tiled("rows", rows, cut.tile[0]) | details.tiled("columns", columns, cut.tile[1])
    found["rows"] = details.few(rows)
    found["tiles"] = details.grid(-(-rows // cut.tile[0]), -(-columns // cut.tile[1]))
    found["steps"] = details.few_or_parity(steps)
    found["k_tail"] = details.tail(_reduced(p), cut.tile[2])
    found["split"] = details.split(p.split_k)
    found |= details.slice_steps(p.split_k, steps)
    found["slices"] = details.slices(p.split_k, steps)
    return found


def _groups(groups: int) -> str:
    return str(groups) if groups in (1, 2, 3, 5) else "8n" if groups % 8 == 0 else "odd" if groups % 2 else "even"


def _axis(p: ConvProblem, axis: int, name: str) -> Details:
    """Return the classes of one axis; a stride of one output and a dilation of one tap have no effect."""
    quantities = ("stride", "dilation", "left", "right", "filter", "input", "output")
    if axis < 0:
        return dict.fromkeys((f"{one}_{name}" for one in quantities), "none")
    outputs, taps = p.output[axis], p.filter[axis]
    window = (taps - 1) * p.dilation[axis] + 1
    return {
        f"stride_{name}": details.few(p.stride[axis]) if outputs > 1 else "one output",
        f"dilation_{name}": details.few(p.dilation[axis], 2) if taps > 1 else "one tap",
        f"left_{name}": _pad(p.left_pad[axis], window),
        f"right_{name}": _pad(p.right_pad[axis], window),
        f"filter_{name}": details.few(taps),
        f"input_{name}": _image(p.input[axis]),
        f"output_{name}": _image(outputs),
    }


def _pad(pad: int, window: int) -> str:
    """Return the class of a pad: of at least the window, some windows lie wholly in the padding."""
    return "0" if pad == 0 else details.IN_PADDING if pad >= window else "1" if pad == 1 else ">1"


def _image(cells: int) -> str:
    return str(cells) if cells <= 3 else "odd" if cells % 2 else "even"


def _unequal(p: ConvProblem) -> str:
    """Return which quantities differ between axes: none, one of them by name, or several."""
    names = ("filter", "input", "stride", "dilation", "left_pad", "right_pad")
    found = [name for name in names if len(set(getattr(p, name))) > 1]
    return found[0] if len(found) == 1 else "several" if found else "none"


def _reduced(p: ConvProblem) -> int:
    """Return the length that the steps of a reduction cut, of one tap."""
    if p.direction is Pass.BWD_WEIGHT:
        return p.n * prod(p.output)
    return p.c if p.direction is Pass.FWD else p.k


def _gemm(p: ConvProblem, cut: Cut) -> tuple[int, int, int]:
    """Return rows and columns of the product, and the steps of the longest sum."""
    steps = -(-_reduced(p) // cut.tile[2])
    if p.direction is Pass.BWD_WEIGHT:
        return p.k, p.c * prod(p.filter), steps
    if p.direction is Pass.FWD:
        return p.n * prod(p.output), p.k, steps * prod(p.filter)
    from bitgate.ops.convolution.decomposition import sub_gemm_rows, sub_gemms

    taps = max((prod(gemm.taps) for gemm in sub_gemms(p)), default=1)
    return sub_gemm_rows(p), p.c, steps * taps
