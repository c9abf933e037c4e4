"""Tasks and submissions by the conventions of KernelBench and of gpu-mode, in the process where their code runs."""

from __future__ import annotations

import ast
import inspect
import string
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
from numpy.typing import NDArray

from bitgate.core.errors import UsageError
from bitgate.core.untrusted import shown
from bitgate.kernel.python_callable import TORCH_TYPES, as_torch, load_function

MODEL, FUNCTION = "Model", "ref_kernel"
"""What a task's file defines: KernelBench's module, or gpu-mode's function."""
NEW_MODEL, CUSTOM = "ModelNew", "custom_kernel"
"""What a submission's file defines."""
MOST_TEXT = 16 << 20
SEED = 42
"""Of a module's parameters: both sides draw them after it, as KernelBench does."""


def is_text(file: Path) -> bool:
    """Return whether a path is a file that can be read as a whole: no pipe, which would be waited for."""
    return file.is_file() and file.stat().st_size <= MOST_TEXT


def names_in(file: Path) -> set[str]:
    """Return the names that a file defines or imports at its top, without running it. UsageError for no Python."""
    try:
        if file.exists() and not is_text(file):
            raise ValueError(f"it is no regular file of at most {MOST_TEXT >> 20} MiB")
        tree = ast.parse(file.read_text())
    except (OSError, SyntaxError, ValueError, RecursionError, MemoryError) as error:
        raise UsageError(f"{file}: cannot be read as Python: {shown(error)}") from None
    found: set[str] = set()
    for node in _statements(tree):
        if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
            found.add(node.name)
        elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
            found.add(node.target.id)
        elif isinstance(node, ast.Assign):
            found |= {target.id for target in node.targets if isinstance(target, ast.Name)}
        elif isinstance(node, ast.ImportFrom):
            found |= {(node.module or "").partition(".")[0], *(one.asname or one.name for one in node.names)}
        elif isinstance(node, ast.Import):
            found |= {one.name.partition(".")[0] for one in node.names}
    return found


def _statements(block: ast.AST) -> Iterator[ast.stmt | ast.ExceptHandler]:
    """Yield the statements of a file's top, those in its if, try, with and loops too."""
    for node in ast.iter_child_nodes(block):
        if isinstance(node, (ast.stmt, ast.ExceptHandler)):
            yield node
            if not isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
                yield from _statements(node)


def load_task(file: Path, name: str) -> Any:
    """Return what a task's file calls ``name``. UsageError says what is missing."""
    try:
        return load_function(file, name, is_foreign=True)
    except ModuleNotFoundError as error:
        install = f": pip install {error.name}" if error.name in ("torch", "triton") else ""
        raise UsageError(f"{file}: needs the module {error.name}, which is not installed{install}") from None
    except AttributeError:
        raise UsageError(f"{file}: defines no {name}") from None


def is_tensor(value: object) -> bool:
    return isinstance(value, np.ndarray) or is_torch(value)


def is_torch(value: object) -> bool:
    return type(value).__module__.partition(".")[0] == "torch" and hasattr(value, "detach")


def type_of(value: Any) -> str:
    """Return the name of a tensor's element type: float32, bfloat16, int64 ..."""
    return str(value.dtype).removeprefix("torch.")


def check_bools(value: Any) -> None:
    """Raise ValueError for a tensor of truth values with a byte that is neither 0 nor 1.

    numpy and torch read such a byte as true; code that counts or indexes with it does not.
    """
    if type_of(value) != "bool":
        return
    cells = value.view(sys.modules["torch"].uint8 if is_torch(value) else np.uint8)
    if bool((cells > 1).any()):
        raise ValueError("returned truth values of which some have bytes that are neither 0 nor 1")


def order_of(value: Any) -> str:
    """Return a tensor's axes by letter as they lie in memory, the slowest first; empty where that is their order."""
    strides = value.stride() if is_torch(value) else value.strides
    placed = [axis for axis, length in enumerate(value.shape) if length > 1]  # those of length 1 lie anywhere
    by_stride = sorted(placed, key=lambda axis: -strides[axis])
    if by_stride == placed or any(strides[axis] <= 0 for axis in placed):
        return ""
    rest = [axis for axis in range(len(strides)) if axis not in placed]
    return "".join(string.ascii_lowercase[axis] for axis in (*rest, *by_stride))


def copy_of(value: Any) -> Any:
    """Return a tensor with the same numbers in other memory."""
    return value.clone() if is_torch(value) else value.copy()


def to_numpy(value: Any) -> NDArray[Any]:
    """Return a tensor's numbers as an array that keeps them: of f64, or of integers."""
    if is_torch(value):
        value = value.detach().cpu()
        value = value.double() if value.is_floating_point() else value
        value = value.numpy()
    array = np.asarray(value)
    return array if array.dtype.kind in "biuc" else array.astype(np.float64)


def tensor_of(array: NDArray[Any], kind: str, torch: bool, device: str = "cpu") -> Any:
    """Return a tensor of the element type ``kind`` with an array's numbers, always in memory that nothing else has."""
    if not torch:
        return np.array(array, getattr(ml_dtypes, kind) if kind in TORCH_TYPES else np.dtype(kind))
    import torch as runtime

    plain = as_torch(np.array(array)) if array.dtype.kind in "biuf" else as_torch(array.astype(np.float64))
    return plain.to(device, getattr(runtime, kind), copy=True)


def seed_all(torch: bool, seed: int = SEED) -> None:
    np.random.seed(seed)
    if torch:
        import torch as runtime

        runtime.manual_seed(seed)


def without_gradients(torch: bool) -> Any:
    if not torch:
        return nullcontext()
    import torch as runtime

    return runtime.no_grad()


class Module:
    """A module (KernelBench) or a function (gpu-mode) of either side, called with a task's inputs.

    ``packing`` says how a function gets them: ``single`` or ``tuple`` or ``list``; a module gets each. ``device`` has
    the parameters of a module of torch.
    """

    def __init__(self, made: Any, init: Sequence[Any], packing: str, torch: bool, device: str = "cpu") -> None:
        self._made, self._init, self._packing, self._torch, self._device = made, init, packing, torch, device
        self._modules: dict[str, Any] = {}

    def __call__(self, inputs: Sequence[Any], kind: str, more: Sequence[Any] = ()) -> list[Any]:
        """Return the outputs; ``kind`` is the type that a module's parameters are brought to."""
        with without_gradients(self._torch):
            if self._packing == "arguments":
                returned = self._module(kind)(*inputs)
            else:
                packed: Any = inputs[0] if self._packing == "single" else tuple(inputs)
                returned = self._made(list(packed) if self._packing == "list" else packed, *more)
        return list(returned) if isinstance(returned, (tuple, list)) else [returned]

    def _module(self, kind: str) -> Callable[..., Any]:
        if kind not in self._modules:
            seed_all(self._torch)
            made = self._made(*self._init)
            if self._torch and hasattr(made, "to"):
                import torch as runtime

                made = made.to(self._device, getattr(runtime, kind))
            self._modules[kind] = made if callable(made) else made.forward
        found: Callable[..., Any] = self._modules[kind]
        return found


class TaskFile:
    """A task's file, loaded here: what it draws, and its reference in any type."""

    def __init__(self, file: Path, arguments: Mapping[str, Any]) -> None:
        self.file, self._arguments = file, dict(arguments)
        self.is_model = MODEL in names_in(file)
        draw = load_task(file, "get_inputs" if self.is_model else "generate_input")
        self._draw = draw
        first = self.generate()
        self.torch = any(map(is_torch, first[0]))
        if not any(map(is_tensor, first[0])):
            raise UsageError(f"{file}: its inputs are no tensors of torch or numpy: {shown(first[0])}")
        init = load_task(file, "get_init_inputs")() if self.is_model and "get_init_inputs" in names_in(file) else []
        self.init = list(init)
        self.packing = "arguments" if self.is_model else first[1]
        self.run = Module(load_task(file, MODEL if self.is_model else FUNCTION), self.init, self.packing, self.torch)

    def generate(self) -> tuple[list[Any], str]:
        """Return the task's own inputs, and how a function gets them."""
        drawn = self._draw(**({} if self.is_model else self._stated()))
        if is_tensor(drawn):
            return [drawn], "single"
        if isinstance(drawn, (tuple, list)):
            return list(drawn), "list" if isinstance(drawn, list) else "tuple"
        what = f"{self.file}: its inputs are a {type(drawn).__name__}"
        raise UsageError(f"{what}: give tensors, or a tuple or list of them")

    def _stated(self) -> dict[str, Any]:
        known = inspect.signature(self._draw).parameters
        stated = {"seed": SEED} | self._arguments
        for name, parameter in known.items():
            if name not in stated and parameter.default is parameter.empty:
                raise UsageError(f"{self.file}: generate_input needs {name}: give --input {name}=VALUE")
        return {name: value for name, value in stated.items() if name in known}
