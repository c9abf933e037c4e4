"""Addresses of a GPU of which parts alone are memory, by HIP's virtual memory management."""

from __future__ import annotations

from contextlib import ExitStack
from typing import Any

import numpy as np

from bitgate.model.memory_runs import Runs, joined
from bitgate.runtime.errors import HipError, check


class Reservation:
    """Addresses from ``address`` on, ``size`` bytes, with memory for ``runs`` of them in whole pages: ``mapped``.

    Any other access is an illegal one. Raises HipError where memory or addresses run out, with nothing kept.
    """

    def __init__(self, hip: Any, index: int, size: int, runs: Runs) -> None:
        """Reserve, and map memory of the device with that index."""
        self._hip, self._undo = hip, ExitStack()
        self._properties = hip.hipMemAllocationProp()
        self._properties.type = hip.hipMemAllocationType.hipMemAllocationTypePinned
        self._access = hip.hipMemAccessDesc()
        self._access.flags = hip.hipMemAccessFlags.hipMemAccessFlagsProtReadWrite
        for place in (self._properties.location, self._access.location):
            place.type, place.id = hip.hipMemLocationType.hipMemLocationTypeDevice, index
        recommended = hip.hipMemAllocationGranularity_flags.hipMemAllocationGranularityRecommended
        page = int(self._call("hipMemGetAllocationGranularity", self._properties, recommended))
        whole = -(-size // page) * page
        self.address = int(self._call("hipMemAddressReserve", whole, page, None, 0))
        self._undo.callback(self._call, "hipMemAddressFree", self.address, whole)
        self.mapped = whole_pages(runs, page)
        try:
            for begin, end in self.mapped:
                self._map(self.address + begin, end - begin)
        except HipError:
            self.free()
            raise

    def free(self) -> None:
        """Give memory and addresses back; a second call does nothing. Work on them must have ended."""
        self._undo.close()

    def _map(self, address: int, size: int) -> None:
        handle = self._call("hipMemCreate", size, self._properties, 0)
        try:
            self._call("hipMemMap", address, size, 0, handle, 0)
        finally:  # what is mapped keeps its memory
            self._call("hipMemRelease", handle)
        self._undo.callback(self._call, "hipMemUnmap", address, size)
        self._call("hipMemSetAccess", address, size, self._access, 1)

    def _call(self, name: str, *arguments: Any) -> Any:
        return check(getattr(self._hip, name)(*arguments), name)


def whole_pages(runs: Runs, page: int) -> Runs:
    """Return the runs as whole pages of that many bytes."""
    begins, ends = np.array(runs, np.int64).T
    return joined(np.stack([begins // page * page, -(-ends // page) * page], axis=1))
