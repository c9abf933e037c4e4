"""What all tests rely on."""

from __future__ import annotations

import gc
import signal
from pathlib import Path

import pytest
from hypothesis import settings

# A job in the background of a shell ignores Ctrl-C, and so would every process that a test starts to interrupt it.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

from tests.needs import NEEDS, NIGHTLY, lacking

_LISTED = Path(__file__).with_name("slow.txt").read_text().splitlines()
SLOW = frozenset(line for line in _LISTED if not line.startswith("#"))

# The machine is shared: what an example takes says nothing.
settings.register_profile("bitgate", deadline=None, print_blob=True)
settings.load_profile("bitgate")


def pytest_collection_finish() -> None:
    """Tests run pytest inside this one, and each such run ends with five full collections: what these thousands of
    tests are made of lives to the end anyway, and is not to be looked through again and again."""
    gc.collect()
    gc.freeze()


def pytest_configure(config: pytest.Config) -> None:
    for name in NEEDS:
        config.addinivalue_line("markers", f"needs_{name}: which needs({name!r}) gives a test, to select it by")


def _needs(item: pytest.Item) -> list[str]:
    return [name for mark in item.iter_markers("needs") for name in mark.args]


def pytest_itemcollected(item: pytest.Item) -> None:
    """Give a test that ``needs("slurm")`` the mark ``needs_slurm`` too, and one of slow.txt the mark ``slow``: ``-m``
    selects by them."""
    if item.nodeid.split("[")[0] in SLOW:
        item.add_marker("slow")
    for name in _needs(item):
        if name not in NEEDS:
            raise pytest.UsageError(f"{item.nodeid}: needs({name!r}): tests/needs.py has {', '.join(NEEDS)}")
        item.add_marker(f"needs_{name}")


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    """Skip a test where its needs are lacking; fail it if ``-m`` names them, or if the nightly promises them."""
    for name in _needs(item):
        if why := lacking(name):
            asked = f"needs_{name}" in item.config.getoption("markexpr")
            (pytest.fail if asked or (NIGHTLY and NEEDS[name].nightly) else pytest.skip)(why)


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    late = [item for item in items if item.get_closest_marker("nightly")] if not NIGHTLY else []
    if late:
        items[:] = [item for item in items if not item.get_closest_marker("nightly")]
        config.hook.pytest_deselected(items=late)
