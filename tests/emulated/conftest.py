"""A stand-in for an emulator, made once a test process."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from tests.emulated.stand_in import StandIn, build
from tests.places import lasting_place


@pytest.fixture(scope="session")
def emulator() -> Iterator[StandIn]:
    with lasting_place() as folder:
        yield build(folder / "rocm")
