"""The code that nearly each judge and launcher needs: a zygote (worker/zygote.py) loads it once for all of them."""

from __future__ import annotations

from contextlib import suppress
from importlib import import_module
from pkgutil import walk_packages

from bitgate.core.errors import UsageError
from bitgate.kernel.registry import families
from bitgate.runtime.hip_python import import_hip

OPERATIONS, DIALECTS = "bitgate.ops", "bitgate.interop.dialect"


def load() -> None:
    """Import the modules of both processes, bitgate's operations and declarations, the dialects, and hip-python.

    No target is opened and no case is known: hip-python opens its runtime at the first call.
    """
    import_module("bitgate.verify.server")
    import_module("bitgate.verify.launcher_server")
    operations = import_module(OPERATIONS)
    for module in walk_packages(operations.__path__, f"{OPERATIONS}."):
        import_module(module.name)
    import_module(DIALECTS).dialects()
    with suppress(UsageError):
        import_hip()
    families()
