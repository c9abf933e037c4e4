"""How many threads numpy's BLAS uses, where it is an OpenBLAS (numpy's wheels, Debian, conda-forge).

Another BLAS keeps its own setting: results are the same, only the cores are shared less well.
"""

from __future__ import annotations

import ctypes
from collections.abc import Iterator
from contextlib import contextmanager
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np  # its import loads the BLAS that is looked for

_SET = "{prefix}openblas_set_num_threads{suffix}"
_GET = "{prefix}openblas_get_num_threads{suffix}"
_NAMES = tuple((prefix, suffix) for prefix in ("scipy_", "") for suffix in ("64_", ""))


@lru_cache(maxsize=1)
def _controls() -> tuple[Any, Any] | None:
    """The setter and getter of the OpenBLAS that numpy loaded, None if there is none."""
    np.dot(np.ones(2), np.ones(2))
    mapped = {line.split(maxsplit=5)[-1] for line in Path("/proc/self/maps").read_text().splitlines()}
    # numpy's own wheel first: another package may have brought a second OpenBLAS.
    paths = sorted((p for p in mapped if "blas" in p and ".so" in p), key=lambda p: "numpy" not in p)
    for path in paths:
        try:
            loaded = ctypes.CDLL(path)
        except OSError:
            continue
        for prefix, suffix in _NAMES:
            setter = getattr(loaded, _SET.format(prefix=prefix, suffix=suffix), None)
            getter = getattr(loaded, _GET.format(prefix=prefix, suffix=suffix), None)
            if setter is not None and getter is not None:
                setter.argtypes, setter.restype = (ctypes.c_int,), None
                getter.argtypes, getter.restype = (), ctypes.c_int
                return setter, getter
    return None


@contextmanager
def threads(count: int) -> Iterator[None]:
    """BLAS calls inside use ``count`` threads each, where that can be set. Not nested across threads."""
    controls = _controls()
    if controls is None:
        yield
        return
    setter, getter = controls
    before = getter()
    if before != count:
        setter(count)
    try:
        yield
    finally:
        if before != count:
            setter(before)
