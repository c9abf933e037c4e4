"""Work that a process of kernels can do before its questions are known, while its parent still collects the tests.

Nothing is built. Failures here are ignored; they recur, and are reported, on first use.
"""

from __future__ import annotations

from collections.abc import Iterable

from bitgate.core.errors import UsageError
from bitgate.kernel.build.errors import BuildError
from bitgate.kernel.errors import LibraryError
from bitgate.numerics import native
from bitgate.runtime.errors import HipError
from bitgate.runtime.tools_abi import family as tools_family
from bitgate.verify.session import Session


def prewarm(session: Session, families: Iterable[str]) -> None:
    """Open the device, and load what nearly every run needs and the libraries of these families, as far as all that is
    built."""
    try:
        builder = session.builder
        if not builder.is_built():
            return
        native.library()
        _ = session.device
        if session.target.platform != "host" and builder.is_built(tools_family()):
            _ = session.device_tools
        for name in families:
            if builder.is_built(session.family(name)):
                session.library(name)
    except (UsageError, BuildError, LibraryError, HipError, OSError):
        return
