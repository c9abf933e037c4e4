"""The data root (kernels, suites, ci and reports of a checkout, else the wheel's copies), cache and output folders."""

from __future__ import annotations

import os
import re
from functools import lru_cache
from pathlib import Path

from bitgate.core.errors import UsageError

VARIABLE, FORMER_VARIABLE = "BITGATE_DATA_ROOT", "BITGATE_ROOMS"
"""Variables that name another data root, for a process whose kernels are another commit's."""
PACKED = "_data"
"""The folder of the wheel's copies."""


@lru_cache(maxsize=1)
def root() -> Path:
    """Return the data root that the environment names, else the checkout that this process stands in, else ``home``.

    A wheel inside a checkout works on the checkout: its own copies of the sources are not what is being changed there.
    UsageError if the environment names no data root.
    """
    name = VARIABLE if os.environ.get(VARIABLE) else FORMER_VARIABLE
    stated = os.environ.get(name)
    if not stated:
        checkout = checkout_around(Path.cwd()) if home().name == PACKED else None
        if checkout is not None:
            os.environ[VARIABLE] = str(checkout)  # child processes work elsewhere, and on the same
        return checkout or home()
    if not is_root(Path(stated)):
        raise UsageError(f"{name}={stated}: holds no kernels/include/bitgate/abi.h; unset it")
    return Path(stated).resolve()


@lru_cache(maxsize=1)
def home() -> Path:
    """Return the data root of this package: the checkout around it, or the data inside it."""
    here = Path(__file__).resolve().parents[1]
    checkout = here.parent.parent
    if is_root(checkout):
        return checkout
    packed = here / PACKED
    if (packed / "kernels").is_dir():
        return packed
    raise UsageError(f"no kernels folder found beside {here}: reinstall bitgate, or run from a checkout")


def checkout_around(place: Path) -> Path | None:
    """Return the checkout of bitgate that a folder is in, if it is in one."""
    folders = (place, *place.parents)
    return next((one for one in folders if is_root(one) and (one / "harness/bitgate/__init__.py").is_file()), None)


def is_root(folder: Path) -> bool:
    """Return whether a folder is a data root, as a checkout of bitgate is."""
    return (folder / "kernels" / "include" / "bitgate" / "abi.h").is_file()


def data_folder(name: str) -> Path:
    """Return a folder of the data root: kernels, suites, ci or reports."""
    return root() / name


def cache_dir() -> Path:
    """Return ``$BITGATE_CACHE``, else the user's cache folder."""
    stated = os.environ.get("BITGATE_CACHE")
    if stated:
        return Path(stated).absolute()
    from platformdirs import user_cache_path  # late: most processes get the folder from their environment

    return user_cache_path("bitgate")


def out_dir() -> Path:
    """Return ``$BITGATE_OUT``, else ``out`` in the current folder."""
    return Path(os.environ.get("BITGATE_OUT") or "out").absolute()


MOST_THREADS = 1024
"""The most threads that the host runtime takes."""


def threads() -> int:
    """Return ``$BITGATE_THREADS``, else the cores of this process divided by the workers of a parallel test run."""
    stated = os.environ.get("BITGATE_THREADS")
    if stated:
        count = int(stated) if re.fullmatch("[0-9]{1,9}", stated) else 0
        if not 1 <= count <= MOST_THREADS:
            raise UsageError(f"BITGATE_THREADS={stated:.40}: give a number from 1 to {MOST_THREADS}")
        return count
    workers = int(os.environ.get("PYTEST_XDIST_WORKER_COUNT") or 1)
    return max(1, min(MOST_THREADS, len(os.sched_getaffinity(0)) // workers))
