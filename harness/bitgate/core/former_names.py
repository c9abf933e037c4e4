"""Former import paths of files that users wrote: they work for one minor release, each with a DeprecationWarning.

``bitgate`` adds the last finder of modules; it asks this module about names in ``bitgate`` that nothing else found.
"""

from __future__ import annotations

import sys
import warnings
from importlib import import_module
from importlib.abc import Loader
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any

ENDS_WITH = "0.3"
"""The release without them."""

MODULES = {
    "build": ("kernel.build", "kernel"),
    "cases": ("suite", "testing"),
    "device": ("runtime", "kernel"),
    "diagnose": ("verify.diagnose", "operation"),
    "errors": ("core.errors", "operation"),
    "exact": ("numerics", "operation"),
    "operation": ("model", "operation"),
    "operation.exactness": ("model.numerics", "operation"),
    "operation.insight": ("model.diagnostics", "operation"),
    "operation.sized.exactness": ("model.sized.numerics", "operation"),
    "operation.sized.insight": ("model.sized.diagnostics", "operation"),
    "operations": ("ops", "operation"),
    "outside": ("core.untrusted", "operation"),
    "plugin": ("suite.pytest", "testing"),
    "project": ("core.project", "operation"),
    "record": ("results.record", "testing"),
    "report": ("results.report", "testing"),
}
"""Former module or package -> where its content is, and the public module to import from."""

CLASSES = {
    "Conduct": "LibraryState",
    "Exactness": "Numerics",
    "Insight": "Diagnostics",
    "OddInput": "InvalidInput",
    "SizedExactness": "SizedNumerics",
    "SizedInsight": "SizedDiagnostics",
    "Space": "ProblemSpace",
}
"""Former class names, in whichever module they were."""


class FormerModule(ModuleType):
    """A module by its former name. Its names are those of the module that holds the content today."""

    def __init__(self, name: str, today: ModuleType) -> None:
        super().__init__(name, today.__doc__)
        self._today = today
        self.__path__: list[str] = []  # its former submodules are found in the same way

    def __getattr__(self, name: str) -> Any:
        value = getattr(self._today, name) if hasattr(self._today, name) else class_formerly(name, self._today)
        setattr(self, name, value)
        return value


def class_formerly(name: str, module: ModuleType) -> Any:
    """Return the class that ``module`` had under a former name. AttributeError if it had none."""
    if name not in CLASSES or CLASSES[name] not in vars(module):
        raise AttributeError(f"module {module.__name__!r} has no attribute {name!r}")
    _warn(f"{module.__name__}.{name} is {CLASSES[name]} now")
    return vars(module)[CLASSES[name]]


def find(name: str) -> ModuleSpec | None:
    """Return the spec of a former module of bitgate; None for a name that none ever had."""
    known = name.removeprefix("bitgate.")
    while known not in MODULES:
        known, _, _ = known.rpartition(".")
        if not known:
            return None
    today, public = MODULES[known]
    place = f"bitgate.{today}{name.removeprefix('bitgate.' + known)}"
    return ModuleSpec(name, _Loader(place, public), is_package=True)


class _Loader(Loader):
    """The loader of one former module, which imports the one of today."""

    def __init__(self, today: str, public: str) -> None:
        self.today = today
        self.public = public

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        try:
            today = import_module(self.today)
        except ModuleNotFoundError as error:
            if error.name != self.today:
                raise
            raise ModuleNotFoundError(f"No module named {spec.name!r}", name=spec.name) from None
        _warn(f"{spec.name} is not a public module: import from bitgate.{self.public} (docs/api.md)")
        return FormerModule(spec.name, today)

    def exec_module(self, module: ModuleType) -> None:
        """Run nothing: the module of today has run."""


def _warn(what: str) -> None:
    """Warn at the place of the import: the first frame that is neither this file's nor the import system's."""
    level, frame = 1, sys._getframe(0)
    while frame.f_back and (frame.f_code.co_filename == __file__ or "importlib" in frame.f_code.co_filename):
        frame = frame.f_back
        level += "importlib._bootstrap" not in frame.f_code.co_filename  # warnings does not count these frames
    warnings.warn(f"{what}; the former name goes with {ENDS_WITH}", DeprecationWarning, stacklevel=level)
