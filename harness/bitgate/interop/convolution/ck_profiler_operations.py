"""The operations of ckProfiler that are convolutions: what their numbers mean."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import TypeVar

from bitgate.interop.numbers import integer
from bitgate.model import ProblemError
from bitgate.ops.convolution.problem import Pass

Entry = TypeVar("Entry", str, tuple[str, str])

AUTO = -1
POWERS = (1, 2, 4, 8, 16, 32, 64, 128)
"""The split-Ks that ckProfiler tries by itself; bwd_weight its own choice before them."""

_CONTROLS = ("1", "1", "0", "0")  # verify, init (1: integers), log, time
_INDEX_32 = "0"


@dataclass(frozen=True)
class Profiled:
    """Operation of ckProfiler.

    ``dtypes`` and ``layouts`` (2D input and weight layout) are by the number that ckProfiler gives them; ``controls``
    are between the layout and ndim. ``built``: the types that ckProfiler has instances of, by ndim and layout; what it
    has none of is understood all the same.
    """

    direction: Pass
    dtypes: Mapping[int, str]
    layouts: Mapping[int, tuple[str, str]]
    controls: tuple[str, ...] = _CONTROLS
    groups: bool = True
    takes_split_k: bool = False
    built: Mapping[tuple[int, int | None], tuple[int, ...]] = field(default_factory=dict)
    refused: Mapping[int, str] = field(default_factory=dict)
    """Types that cannot be said here, by number, and what they are."""
    tries_all: bool = True
    """Of backward data: are all POWERS tried where the split-K is not positive?"""

    def types(self, number: int, name: str) -> str:
        if number in self.refused:
            raise ProblemError(f"{name} data type {number} is {self.refused[number]}: not understood")
        return _lookup(self.dtypes, number, "data type", name)

    def layout(self, number: int, name: str) -> tuple[str, str]:
        return _lookup(self.layouts, number, "layout", name)

    def split_ks(self, word: str) -> tuple[int, ...]:
        """Return the split-Ks that the word after the problem stands for."""
        if self.direction is Pass.BWD_WEIGHT:
            if word == "all":
                return (AUTO, *POWERS)
            number = integer(word, "split-K")
            return (AUTO if number < 0 else number,)
        number = integer(word, "split-K")
        if number <= 0 and not self.tries_all:
            raise ProblemError(f"split-K is {number}: a positive one is understood")
        return POWERS if number <= 0 else (number,)

    def stated_split_ks(self, split_k: int) -> tuple[int, ...]:
        """Return what ``split_k`` as a word stands for; nothing where the operation takes none."""
        return self.split_ks(str(split_k)) if self.takes_split_k else ()


_LAYOUTS = {0: ("gnhwc", "gkyxc"), 1: ("nhwgc", "gkyxc"), 2: ("ngchw", "gkyxc"), 3: ("ngchw", "gkcyx")}
_UNGROUPED_LAYOUTS = {1: ("nhwgc", "gkyxc")}
_USUAL = {0: "f32", 1: "f16", 2: "bf16", 3: "i8"}
_TF32 = "f32 multiplied as tf32"
_BF8_F8 = "f16_ctinf8fnuz_ctoutbf8fnuz"

_GROUPED = {
    "grouped_conv_fwd": Profiled(
        Pass.FWD,
        _USUAL | {4: "f8fnuz", 5: "bf8fnuz_bf8fnuz_f8fnuz", 6: "f8fnuz_bf8fnuz_f8fnuz", 7: "bf8fnuz_f8fnuz_f8fnuz"},
        _LAYOUTS,
        (_INDEX_32, *_CONTROLS),
        built={
            **{(ndim, layout): (0, 1, 2, 3) for ndim in (1, 2, 3) for layout in (0, 1)},
            **{(2, layout): (0, 1, 2) for layout in (2, 3)},
            (3, 1): tuple(range(8)),
            (3, 3): (0, 1, 2),
        },
        refused={8: _TF32},
    ),
    "grouped_conv_bwd_data": Profiled(
        Pass.BWD_DATA,
        {0: "f32", 1: "f16", 2: "bf16"},
        _LAYOUTS,
        takes_split_k=True,
        built={(ndim, layout): (0, 1, 2) for ndim in (2, 3) for layout in range(4) if (ndim, layout) != (3, 3)},
        refused={3: _TF32},
    ),
    "grouped_conv_bwd_weight": Profiled(
        Pass.BWD_WEIGHT,
        {0: "f32", 1: "f16", 2: "bf16_f32_bf16", 3: _BF8_F8, 4: "i8", 5: "bf16"},
        {1: ("gnhwc", "gkyxc"), 2: ("nhwgc", "gkyxc"), 3: ("ngchw", "gkyxc"), 4: ("ngchw", "gkcyx")},
        takes_split_k=True,
        built={
            **{(ndim, 1): (0, 1, 2) for ndim in (1, 2)},
            (2, 2): (0, 1, 2, 5),
            (3, 1): (0, 1, 2, 4),
            (3, 2): (0, 1, 2, 3, 4, 5),
            **{(ndim, 3): (1, 5) for ndim in (2, 3)},
            **{(ndim, 4): (0, 1, 5) for ndim in (2, 3)},
        },
        refused={6: _TF32},
    ),
}
OPERATIONS: Mapping[str, Profiled] = {
    **_GROUPED,
    "conv_fwd": Profiled(Pass.FWD, _USUAL, _UNGROUPED_LAYOUTS, groups=False),
    "conv_bwd_data": Profiled(Pass.BWD_DATA, _USUAL, _UNGROUPED_LAYOUTS, groups=False),
    **{f"{name}_tile": replace(operation, tries_all=False) for name, operation in _GROUPED.items()},
}
"""By name. The ``_tile`` ones take the same words; the ungrouped ones take a G of 1."""


def _lookup(table: Mapping[int, Entry], number: int, what: str, name: str) -> Entry:
    try:
        return table[number]
    except KeyError:
        known = ", ".join(
            f"{key} ({value if isinstance(value, str) else '/'.join(value)})" for key, value in table.items()
        )
        raise ProblemError(f"{name} {what} {number} is not understood: {known} are") from None
