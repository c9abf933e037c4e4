"""An operation that computes nothing: its kernels measure, and what they find is judged."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol


class Measurement(Protocol):
    """One problem, measured on a device by a library of its kernels."""

    @property
    def found(self) -> Mapping[str, Any]:
        """Figures that belong on the record even where nothing is wrong, as small JSON."""

    def take(self) -> tuple[str, Sequence[str]]:
        """What is not as declared: in one sentence, empty if all is; and thing by thing. HipError and KernelFailed if
        a launch fails."""
