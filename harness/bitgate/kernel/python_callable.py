"""A Python function as a kernel: the declaration that bitgate writes for it, and its runner on the host."""

from __future__ import annotations

import ctypes
import inspect
import re
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from hashlib import sha256
from importlib import util
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bitgate.core import paths
from bitgate.core.errors import UsageError
from bitgate.kernel.cache.content import content_of
from bitgate.kernel.declaration import Instance, KernelFamily, Refusal
from bitgate.kernel.dispatch import DispatchRecord
from bitgate.kernel.runner import Capability, LibraryState
from bitgate.model import DTYPES, Accumulation, Problem, Tensor

TEXT = '''"""The function {name} of {file} as a kernel. bitgate wrote this declaration, for one kind of problem."""

from bitgate.kernel.python_callable import family_of

FAMILY = family_of(
    file={file!r},
    name={name!r},
    operation={operation!r},
    dtypes={dtypes!r},
    layout={layout!r},
    ndim={ndim!r},
)
'''


def declare(function: Callable[..., object], problem: Problem) -> Path:
    """Write the declaration of a function that computes problems of this kind; return its path, in the cache.

    UsageError for a function that no other process could import.
    """
    file, name = inspect.getsourcefile(function), getattr(function, "__qualname__", "")
    if file is None or not name.isidentifier():
        raise UsageError(
            f"kernel {name or function!r}: another process cannot import it: define a function of a module, by def"
        )
    text = TEXT.format(
        file=str(Path(file).resolve()),
        name=name,
        operation=problem.operation.name,
        dtypes=problem.dtypes.canonical,
        layout=problem.layout,
        ndim=problem.ndim,
    )
    path = paths.cache_dir() / "callables" / sha256(text.encode()).hexdigest()[:16] / "declaration.py"
    if not path.is_file():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return path


def family_of(*, file: str, name: str, operation: str, dtypes: str, layout: str, ndim: int) -> KernelFamily:
    """Return the family of one function: one instance, on the host, for problems of one kind."""
    plain = re.sub("[^a-z0-9_]", "_", name.lower())
    accumulator = {"f64": "f64", "i8": "i32", "i32": "i32"}.get(dtypes, "f32")
    layouts = (layout,) if layout else ()
    instance = Instance(plain, plain, (dtypes,), layouts, (ndim,), Accumulation(DTYPES[accumulator]))
    return KernelFamily(
        name=plain,
        operations=(operation,),
        platforms=("host",),
        instances=(instance,),
        opens=lambda family, instance, options: CallableRunner(family, instance, Path(file), name),
    )


@dataclass(eq=False)
class CallableRunner:
    """The runner of a function ``kernel(problem, tensors)``, which writes the results into ``tensors``."""

    family: KernelFamily
    instance: Instance
    file: Path
    name: str
    conduct: LibraryState = field(default_factory=LibraryState)
    capabilities: frozenset[Capability] = frozenset()

    @cached_property
    def function(self) -> Callable[[Any, Mapping[str, NDArray[Any]]], object]:
        """The function, once its file has run in this process."""
        sys.path.insert(0, str(self.file.parent))  # as pytest does for the modules of tests
        spec = util.spec_from_file_location(f"bitgate_callable_{self.file.stem}", self.file)
        if spec is None or spec.loader is None:
            raise UsageError(f"{self.file}: not a Python file")
        module = util.module_from_spec(spec)
        sys.modules[spec.name] = module
        spec.loader.exec_module(module)
        found: Callable[[Any, Mapping[str, NDArray[Any]]], object] = getattr(module, self.name)
        return found

    @property
    def content_key(self) -> str:
        return content_of(self.file)

    def supports(self, problem: Any) -> Refusal | None:
        return None  # the family's instance declares all that it takes

    def workspace(self, problem: Any) -> int:
        return 0

    def launch(
        self, problem: Any, buffers: Mapping[str, int], workspace: tuple[int, int], stream: int
    ) -> DispatchRecord:
        self.function(problem, {role: cells(tensor, buffers[role]) for role, tensor in problem.tensors.items()})
        return DispatchRecord(self.name, 1, False, 0, self.instance.name, {}, (), (), ())


def cells(tensor: Tensor, pointer: int) -> NDArray[Any]:
    """Return the cells of a tensor at an address of host memory, as a view in logical order."""
    memory = memoryview((ctypes.c_uint8 * tensor.bytes).from_address(pointer))
    # Through unsigned integers: numpy makes no strided views of all of ml_dtypes' types.
    strides = tuple(stride * tensor.dtype.bytes for stride in tensor.strides)
    view: NDArray[Any] = np.ndarray(tensor.lengths, tensor.dtype.bits, memory, strides=strides)
    return view.view(tensor.dtype.numpy)
