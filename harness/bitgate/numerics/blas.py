"""The number of threads of numpy's BLAS, where threadpoolctl knows it (OpenBLAS, MKL, BLIS).

Another BLAS keeps its own setting: results are the same, only the cores are shared less well.
"""

from __future__ import annotations

from contextlib import AbstractContextManager
from functools import lru_cache

import numpy as np  # its import loads the BLAS to control
from threadpoolctl import ThreadpoolController


@lru_cache(maxsize=1)
def _controller() -> ThreadpoolController:
    """Return the controller of the libraries that are loaded now: looking for them costs more than most products."""
    np.dot(np.ones(2), np.ones(2))
    return ThreadpoolController().select(user_api="blas")


def threads(count: int) -> AbstractContextManager[object]:
    """Return a context in which BLAS calls use ``count`` threads each, where that can be set. Do not nest across
    threads."""
    limited: AbstractContextManager[object] = _controller().limit(limits=count)
    return limited
