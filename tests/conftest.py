"""What all tests rely on."""

from __future__ import annotations

import gc
import os
import signal
import sys
from pathlib import Path

import pytest
from hypothesis import settings

# A job in the background of a shell ignores Ctrl-C, and so would every process that a test starts to interrupt it.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

sys.path.insert(0, str(Path(__file__).parent))  # oracle.py, for tests of all folders

# The machine is shared: what an example takes says nothing.
settings.register_profile("bitgate", deadline=None)
settings.load_profile("bitgate")

NIGHTLY = bool(os.environ.get("BITGATE_NIGHTLY"))
"""Every target, every seed; else enough of them that a change is met within minutes."""


def pytest_collection_finish() -> None:
    """Tests run pytest inside this one, and each such run ends with five full collections: what these thousands of
    tests are made of lives to the end anyway, and is not to be looked through again and again."""
    gc.collect()
    gc.freeze()


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "nightly: runs where BITGATE_NIGHTLY is set, as .ci/nightly does")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    late = [item for item in items if item.get_closest_marker("nightly")] if not NIGHTLY else []
    if late:
        items[:] = [item for item in items if not item.get_closest_marker("nightly")]
        config.hook.pytest_deselected(items=late)
