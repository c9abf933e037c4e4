"""A Python function as a kernel: the declaration that bitgate writes for it, and its runner on the host."""

from __future__ import annotations

import ctypes
import inspect
import re
import sys
from collections.abc import Callable, Collection, Mapping
from contextlib import nullcontext
from dataclasses import dataclass, field
from functools import cached_property
from hashlib import sha256
from importlib import metadata
from pathlib import Path
from typing import Any, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from bitgate.core import paths
from bitgate.core.errors import UsageError
from bitgate.kernel.cache.content import content_of
from bitgate.kernel.declaration import Instance, KernelFamily, Refusal
from bitgate.kernel.device_tensors import DeviceArray, keep_on_device, torch_module, torch_on_device
from bitgate.kernel.dispatch import DispatchRecord
from bitgate.kernel.python_files import run_file
from bitgate.kernel.runner import Capability, LibraryState
from bitgate.model import DTYPES, Accumulation, Problem, Tensor

Function: TypeAlias = Callable[[Any, Mapping[str, Any]], object]

TEXT = '''"""The function {name} of {file} as a kernel. bitgate wrote this declaration, for one kind of problem."""

from bitgate.kernel.python_callable import family_of

FAMILY = family_of(
    file={file!r},
    name={name!r},
    operation={operation!r},
    dtypes={dtypes!r},
    layout={layout!r},
    ndim={ndim!r},
    tensors={tensors!r},
)
'''


def declare(kernel: Callable[..., object], problem: Problem) -> Path:
    """Write the declaration of a function, or PythonKernel, that computes problems of this kind; return its path, in
    the cache.

    UsageError for a function that no other process could import.
    """
    function, tensors = (kernel.function, kernel.tensors) if isinstance(kernel, PythonKernel) else (kernel, "numpy")
    if tensors not in VIEWS:
        raise UsageError(f"PythonKernel: tensors is {tensors!r:.50}: {NAMED}")
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
        tensors=tensors,
    )
    path = paths.cache_dir() / "callables" / sha256(text.encode()).hexdigest()[:16] / "declaration.py"
    if not path.is_file():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return path


def family_of(
    *, file: str, name: str, operation: str, dtypes: str, layout: str, ndim: int, tensors: str
) -> KernelFamily:
    """Return the family of one function: one instance, on the host, for problems of one kind."""
    plain = re.sub("[^a-z0-9_]", "_", name.lower())
    accumulator = {"f64": "f64", "i8": "i32", "i32": "i32"}.get(dtypes, "f32")
    layouts = (layout,) if layout else ()
    instance = Instance(plain, plain, (dtypes,), layouts, (ndim,), Accumulation(DTYPES[accumulator]))

    def opens(family: KernelFamily, instance: Instance, options: Mapping[str, str]) -> CallableRunner:
        made = load_function(Path(file), name)  # now: nothing is watched yet, and a runtime may start what it needs
        return CallableRunner(family, instance, Path(file), lambda: made, tensors)

    return KernelFamily(
        name=plain,
        operations=(operation,),
        platforms=PLATFORMS if tensors == "torch" else ("host",),
        instances=(instance,),
        opens=opens,
        changes=OF_TORCH if tensors == "torch" else (),
    )


PLATFORMS = ("host", "amd", "nvidia")
OF_TORCH = ("threads", "descriptors", "device_memory", "signal_handlers", "alternate_stack")
"""The changes of its process that a kernel may make by calling torch: torch's runtime starts and installs these."""


@dataclass(frozen=True)
class PythonKernel:
    """The ``opens`` of a family that is a Python function: ``opens=PythonKernel(matmul)``.

    ``function(problem, tensors)`` gets the tensors by role over the kernel's own buffers: numpy's on the host; torch's
    on any platform, with the caller's stream as the current one; or ``device``, which on a GPU are objects with
    ``__cuda_array_interface__`` and ``stream``. It writes the outputs in place, or returns them: one, a tuple in the
    problem's order, or a mapping by role.
    """

    function: Function
    tensors: Literal["numpy", "torch", "device"] = "numpy"

    def __call__(self, family: KernelFamily, instance: Instance, options: Mapping[str, str]) -> CallableRunner:
        file = inspect.getsourcefile(self.function)
        if self.tensors not in VIEWS:
            raise UsageError(f"PythonKernel: tensors is {self.tensors!r:.50}: {NAMED}")
        if file is None:
            raise UsageError(f"kernel {self.function!r:.100}: define a function of a file, by def")
        return CallableRunner(family, instance, Path(file), lambda: self.function, self.tensors)


@dataclass(eq=False)
class CallableRunner:
    """The runner of a function of a file, which ``load`` returns; ``tensors`` is as in PythonKernel.

    ``platform`` is set when it is opened. One that ``waits`` is called on a GPU's default stream, as scripts are, and
    has ended when its launch returns, whatever streams it used.
    """

    family: KernelFamily
    instance: Instance
    file: Path
    load: Callable[[], Function]
    tensors: str
    waits: bool = False
    platform: str = "host"
    conduct: LibraryState = field(default_factory=LibraryState)
    capabilities: frozenset[Capability] = frozenset()

    @cached_property
    def function(self) -> Function:
        """The function, once its file has run in this process."""
        return self.load()

    @property
    def content_key(self) -> str:
        runtimes = "".join(f" {name} {metadata.version(name)}" for name in RUNTIMES if name in sys.modules)
        return content_of(self.file) + runtimes

    def supports(self, problem: Any) -> Refusal | None:
        return None  # the family's instance declares all that it takes

    def workspace(self, problem: Any) -> int:
        return 0

    def launch(
        self, problem: Any, buffers: Mapping[str, int], workspace: tuple[int, int], stream: int
    ) -> DispatchRecord:
        if self.platform != "host":
            self._on_device(problem, buffers, stream)
        else:
            tensors = {role: VIEWS[self.tensors](tensor, buffers[role]) for role, tensor in problem.tensors.items()}
            returned = self.function(problem, tensors)
            if returned is not None:
                into = {role: cells(problem.tensors[role], buffers[role]) for role in problem.outputs}
                keep_returned(by_role(returned, into), into)
        return DispatchRecord(self.instance.name, 1, False, 0, self.instance.name, {}, (), (), ())

    def open_on(self, platform: str) -> None:
        """Prepare for launches on a platform, before anything is watched. UsageError for numpy's arrays on a GPU."""
        self.platform = platform
        if platform == "host":
            return
        if self.tensors == "numpy":
            raise UsageError(f"{self.file}: numpy's arrays are in the host's memory: state tensors='torch' or 'device'")
        if self.tensors == "torch":
            cuda = torch_module().cuda
            cuda.init()
            cuda.synchronize()

    def _on_device(self, problem: Any, buffers: Mapping[str, int], stream: int) -> None:
        if self.tensors == "device":
            of_device = {role: DeviceArray(one, buffers[role], stream) for role, one in problem.tensors.items()}
            if self.function(problem, of_device) is not None:
                raise TypeError("returned something: write the outputs in place, through __cuda_array_interface__")
            return
        cuda = torch_module().cuda
        if self.waits:  # for data that the caller's stream still brings
            cuda.synchronize()
        current = nullcontext() if self.waits else cuda.stream(cuda.ExternalStream(stream))
        with current:
            tensors = {role: torch_on_device(tensor, buffers[role]) for role, tensor in problem.tensors.items()}
            returned = self.function(problem, dict(tensors))
            if self.waits:  # for work on other streams, too
                cuda.synchronize()
            if returned is not None:
                into = {role: tensors[role] for role in problem.outputs}
                keep_on_device(by_role(returned, into), into)
            if self.waits:
                cuda.synchronize()


RUNTIMES = ("torch", "triton", "jax", "numba")
"""Packages whose version decides what a function computes, where it has loaded them."""


def by_role(returned: object, roles: Collection[str]) -> dict[str, object]:
    """Return what a function returned by role: one, a tuple in order, or a mapping. ValueError for other outputs."""
    if isinstance(returned, Mapping):
        found = dict(returned)
    else:
        listed = list(returned) if isinstance(returned, (tuple, list)) else [returned]
        found = dict(zip(roles, listed, strict=False)) if len(listed) == len(roles) else {}
    if found.keys() != {*roles}:
        raise ValueError(f"returned {type(returned).__name__}: return {', '.join(roles)}, each once")
    return found


def keep_returned(found: Mapping[str, object], into: Mapping[str, NDArray[Any]]) -> None:
    """Copy what a function returned by role into the outputs. TypeError or ValueError unless types and shapes are the
    same."""
    for role, output in into.items():
        cells = as_array(found[role], output.dtype)
        if cells.dtype != output.dtype:
            raise TypeError(f"returned {role} in {cells.dtype}: its type is {output.dtype}")
        if cells.shape != output.shape:
            raise ValueError(f"returned {role} as {cells.shape}: its shape is {output.shape}")
        output[...] = cells


def as_array(value: object, dtype: np.dtype[Any]) -> NDArray[Any]:
    """Return an array of numpy, or a tensor of torch, as numpy's. TypeError for anything else, such as what would
    compute its cells only when they are read."""
    if type(value) is np.ndarray:
        return value
    torch = sys.modules.get("torch")
    if torch is None or type(value) is not torch.Tensor:
        raise TypeError(f"returned a {type(value).__name__}: return numpy's arrays or torch's tensors")
    given: Any = value
    tensor = given.detach()
    if tensor.device.type != "cpu":
        raise TypeError(f"returned a tensor on {tensor.device}: the outputs are in the host's memory")
    if dtype.kind == "V" or dtype.name in TORCH_TYPES:  # types that numpy has not itself
        name = str(tensor.dtype).removeprefix("torch.")
        if name != TORCH_TYPES.get(dtype.name, dtype.name):
            raise TypeError(f"returned {name}: the type is {dtype}")
        bits = {1: torch.uint8, 2: torch.int16}[dtype.itemsize]
        plain: NDArray[Any] = tensor.contiguous().view(bits).numpy()
        return plain.view(dtype)
    array: NDArray[Any] = tensor.resolve_neg().resolve_conj().numpy()
    return array


def cells(tensor: Tensor, pointer: int) -> NDArray[Any]:
    """Return the cells of a tensor at an address of host memory, as a view in logical order."""
    memory = memoryview((ctypes.c_uint8 * tensor.bytes).from_address(pointer))
    # Through unsigned integers: numpy makes no strided views of all of ml_dtypes' types.
    strides = tuple(stride * tensor.dtype.bytes for stride in tensor.strides)
    view: NDArray[Any] = np.ndarray(tensor.lengths, tensor.dtype.bits, memory, strides=strides)
    return view.view(tensor.dtype.numpy)


TORCH_TYPES = {
    "bfloat16": "bfloat16",
    "float8_e4m3fn": "float8_e4m3fn",
    "float8_e5m2": "float8_e5m2",
    "float8_e4m3fnuz": "float8_e4m3fnuz",
    "float8_e5m2fnuz": "float8_e5m2fnuz",
}
"""Torch's names of the types that numpy has not itself."""


def torch_cells(tensor: Tensor, pointer: int) -> Any:
    """Return the cells of a tensor at an address of host memory as a tensor of torch over the same memory."""
    return as_torch(cells(tensor, pointer))


def as_torch(array: NDArray[Any]) -> Any:
    """Return a tensor of torch over the memory of an array."""
    import torch

    if (name := TORCH_TYPES.get(array.dtype.name)) is None:
        return torch.from_numpy(array)
    bits = {1: np.uint8, 2: np.int16}[array.dtype.itemsize]
    return torch.from_numpy(array.view(bits)).view(getattr(torch, name))


VIEWS: Mapping[str, Callable[[Tensor, int], Any]] = {"numpy": cells, "torch": torch_cells, "device": cells}
"""Makers of a function's tensors over the host's memory."""
NAMED = "numpy, torch or device"


def load_function(file: Path, name: str, *, is_foreign: bool = False) -> Any:
    """Run a file in this process, as pytest does with modules of tests, and return what it calls ``name``.

    Of one that ``is_foreign`` no neighbour hides an installed module: others may write next to it.
    """
    sys.path.insert(len(sys.path) if is_foreign else 0, str(file.parent))
    return getattr(run_file(file, f"bitgate_callable_{file.stem}"), name)
