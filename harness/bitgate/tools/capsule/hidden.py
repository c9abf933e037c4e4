"""Hidden arguments: what a runtime adds to a launch, by the code object's own list of kinds and places.

Values are those of a HIP launch: whole blocks only, no global offset, a grid of three dimensions.
"""

from __future__ import annotations

from collections.abc import Callable

from bitgate.kernel.build.code_object import Argument
from bitgate.kernel.dispatch import LaunchEvent
from bitgate.tools.capsule.manifest import HiddenArgument

_AXES = {"x": 0, "y": 1, "z": 2}
_BY_AXIS: dict[str, Callable[[LaunchEvent, int], int]] = {
    "hidden_block_count": lambda launch, axis: launch.grid[axis],
    "hidden_group_size": lambda launch, axis: launch.block[axis],
    "hidden_remainder": lambda launch, axis: 0,
    "hidden_global_offset": lambda launch, axis: 0,
}
_PLAIN: dict[str, Callable[[LaunchEvent], int]] = {
    "hidden_grid_dims": lambda launch: 3,
    "hidden_dynamic_lds_size": lambda launch: launch.lds_bytes,
    "hidden_none": lambda launch: 0,
}
_OF_THE_RUNTIME = {
    "hidden_printf_buffer": "the runtime's printf buffer",
    "hidden_hostcall_buffer": "the runtime's hostcall buffer",
    "hidden_multigrid_sync_arg": "the barrier of a cooperative launch over several devices",
    "hidden_heap_v1": "the device's heap for malloc and free",
    "hidden_default_queue": "the queue for launches by the device",
    "hidden_completion_action": "the completion of launches by the device",
    "hidden_private_base": "high half of the private aperture (before gfx9)",
    "hidden_shared_base": "high half of the shared aperture (before gfx9)",
    "hidden_queue_ptr": "the HSA queue",
}


def hidden_argument(argument: Argument, launch: LaunchEvent) -> HiddenArgument:
    """The value that the argument has in this launch, or, where only a runtime can tell, what it is."""
    kind = argument.kind
    stem, _, axis = kind.rpartition("_")
    value: int | None = None
    note = ""
    if kind in _PLAIN:
        value = _PLAIN[kind](launch)
    elif stem in _BY_AXIS and axis in _AXES:
        value = _BY_AXIS[stem](launch, _AXES[axis])
    else:
        note = _OF_THE_RUNTIME.get(kind, "unknown to this version of bitgate")
    return HiddenArgument(argument.offset, argument.size, kind, value, note)
