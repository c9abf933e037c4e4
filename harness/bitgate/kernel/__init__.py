"""The public names that a kernel's declaration imports, and the layer that describes, builds and calls kernels.

The names are documented in docs/api.md and stable; the modules of this package are not.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from bitgate.core.exports import exports

if TYPE_CHECKING:
    from bitgate.core.errors import UsageError as UsageError
    from bitgate.kernel.declaration import ANY_INTEGER as ANY_INTEGER
    from bitgate.kernel.declaration import Dispatch as Dispatch
    from bitgate.kernel.declaration import Instance as Instance
    from bitgate.kernel.declaration import KernelFamily as KernelFamily
    from bitgate.kernel.declaration import Option as Option
    from bitgate.kernel.declaration import Refusal as Refusal
    from bitgate.kernel.declaration import wave_sizes as wave_sizes
    from bitgate.kernel.dispatch import DispatchRecord as DispatchRecord
    from bitgate.kernel.errors import KernelFailed as KernelFailed
    from bitgate.kernel.errors import KernelRefused as KernelRefused
    from bitgate.kernel.generated import Registered as Registered
    from bitgate.kernel.generated import element as element
    from bitgate.kernel.generated import units as units
    from bitgate.kernel.python_callable import PythonKernel as PythonKernel
    from bitgate.kernel.runner import Capability as Capability
    from bitgate.kernel.runner import LibraryState as LibraryState
    from bitgate.kernel.runner import Runner as Runner
    from bitgate.kernel.source import BufferOffset as BufferOffset
    from bitgate.kernel.source import ClearBuffer as ClearBuffer
    from bitgate.kernel.source import DeviceSource as DeviceSource
    from bitgate.kernel.source import KernelLaunch as KernelLaunch
    from bitgate.model.thread_map import CellWrite as CellWrite
    from bitgate.model.thread_map import MapLaunch as MapLaunch
    from bitgate.model.thread_map import Steps as Steps
    from bitgate.model.thread_map import SumLevel as SumLevel
    from bitgate.model.thread_map import ThreadMap as ThreadMap
    from bitgate.model.thread_map import Tile as Tile

__getattr__, __dir__, __all__ = exports(
    __name__,
    {
        "bitgate.core.errors": "UsageError",
        "bitgate.kernel.declaration": "ANY_INTEGER Dispatch Instance KernelFamily Option Refusal wave_sizes",
        "bitgate.kernel.dispatch": "DispatchRecord",
        "bitgate.kernel.errors": "KernelFailed KernelRefused",
        "bitgate.kernel.generated": "Registered element units",
        "bitgate.kernel.python_callable": "PythonKernel",
        "bitgate.kernel.runner": "Capability LibraryState Runner",
        "bitgate.model.thread_map": "CellWrite MapLaunch Steps SumLevel ThreadMap Tile",
        "bitgate.kernel.source": "BufferOffset ClearBuffer DeviceSource KernelLaunch",
    },
)
