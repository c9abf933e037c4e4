"""bitgate gates GPU kernels on bits.

The public API is documented in docs/api.md: ``verify``, ``plan``, ``load``, ``problem``, ``problems``, ``Verdict``, and
the modules ``bitgate.kernel``, ``bitgate.operation`` and ``bitgate.testing``. Everything else may change with any
release.
"""

from __future__ import annotations

import sys
from importlib import import_module

__version__ = "0.1.0"

# Put before names of modules: to `bitgate ci select` a whole one is an import, here by all of bitgate.
_NAME = __name__
_SOURCES = {
    "Outcome": "results.record",
    "UsageError": "core.errors",
    "Verdict": "results.record",
    "load": "api",
    "plan": "api",
    "problem": "api",
    "problems": "api",
}
_MODULES = ("kernel", "operation", "testing", "verify")
__all__ = sorted((*_SOURCES, *_MODULES))  # the stub lists them for type checkers


def __getattr__(name: str) -> object:
    if name in _SOURCES:
        value = getattr(import_module(f"{_NAME}.{_SOURCES[name]}"), name)
        globals()[name] = value
        return value
    if name in _MODULES:
        return import_module(f"{_NAME}.{name}")
    raise AttributeError(f"module 'bitgate' has no attribute {name!r}")


def __dir__() -> list[str]:
    return __all__


_ModuleType = type(sys)


class _Verify(_ModuleType):
    """The package ``bitgate.verify``, which is called as the function ``bitgate.verify``, too."""

    def __call__(self, *arguments: object, **options: object) -> object:
        return import_module(f"{_NAME}.api").verify(*arguments, **options)


class _Bitgate(_ModuleType):
    """This package: the import system sets its attribute ``verify`` whenever some module imports from there."""

    def __setattr__(self, name: str, value: object) -> None:
        if name == "verify" and isinstance(value, _ModuleType):
            value.__class__ = _Verify
        super().__setattr__(name, value)


class _FormerNames:
    """The last finder of modules: it asks bitgate.core.former_names about names in bitgate that no other found."""

    @staticmethod
    def find_spec(name: str, path: object = None, target: object = None) -> object:
        return import_module(f"{_NAME}.core.former_names").find(name) if name.startswith("bitgate.") else None


sys.modules[__name__].__class__ = _Bitgate
sys.meta_path.append(_FormerNames)  # type: ignore[arg-type]
