"""A submission as a kernel: the declaration that bitgate writes for it, and its call in the launcher's process."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from bitgate.kernel.declaration import Instance, KernelFamily
from bitgate.kernel.device_tensors import torch_module
from bitgate.kernel.python_callable import OF_TORCH, CallableRunner, as_array, load_function
from bitgate.model import DTYPES
from bitgate.tools.judge.control import CONTROL
from bitgate.tools.judge.conventions import NEW_MODEL, Module, check_bools, copy_of, tensor_of, to_numpy, type_of
from bitgate.tools.judge.declared import accumulations
from bitgate.tools.judge.survey import WIDER


def family_of(
    *,
    file: str,
    name: str,
    operation: str,
    dtypes: tuple[str, ...],
    layouts: tuple[str, ...],
    ndims: tuple[int, ...],
    torch: bool,
    platform: str,
    facts: Mapping[str, Any] | None,
) -> KernelFamily:
    """Return the family of a submission on a platform; ``facts`` are the surveyed task's, None for an operation of
    bitgate."""
    instance = Instance("submission", "submission", dtypes, layouts, ndims, accumulations(dtypes))

    def opens(family: KernelFamily, instance: Instance, options: Mapping[str, str]) -> CallableRunner:
        start_runtime(platform)
        made = load_function(Path(file), name, is_foreign=True)  # now: nothing is watched yet, and a runtime starts
        device = device_of(platform)
        if name == CONTROL:
            call = made
        else:
            call = TaskCall(made, facts, device) if facts else OperationCall(made, name, torch, device)
        tensors = "torch" if torch else "numpy"
        return CallableRunner(family, instance, Path(file), lambda: call, tensors, waits=True)

    return KernelFamily(
        name="submission",
        operations=(operation,),
        platforms=(platform,),
        instances=(instance,),
        opens=opens,
        changes=OF_TORCH if torch else (),
    )


def device_of(platform: str) -> str:
    """Return what torch calls the device of a platform."""
    return "cpu" if platform == "host" else "cuda"


def start_runtime(platform: str) -> None:
    """Let torch start what it needs on a GPU, before a submission is loaded."""
    if platform != "host":
        torch_module().cuda.init()


class OperationCall:
    """A submission for an operation of bitgate: ``custom_kernel(data)``, or with the problem; a module gets each."""

    def __init__(self, made: Any, name: str, torch: bool, device: str = "cpu") -> None:
        self._module = Module(made, (), "arguments" if name == NEW_MODEL else "tuple", torch, device)
        self._more = name != NEW_MODEL and len(inspect.signature(made).parameters) > 1

    def __call__(self, problem: Any, tensors: Mapping[str, Any]) -> object:
        inputs = [tensors[role] for role in tensors if role not in problem.outputs]
        return tuple(self._module(inputs, type_of(inputs[0]), (problem,) * self._more))


class TaskCall:
    """A submission for a task's file, called as the task's reference is."""

    def __init__(self, made: Any, facts: Mapping[str, Any], device: str = "cpu") -> None:
        self._facts, self._torch, self._device = facts, bool(facts["torch"]), device
        self._module = Module(made, facts["init"], facts["packing"], self._torch, device)

    def __call__(self, problem: Any, tensors: Mapping[str, Any]) -> object:
        inputs, stated, kind, written = list[Any](), self._facts["outputs"], "", dict[int, Any]()
        has_copies = False
        for one in self._facts["inputs"]:
            if "constant" in one:
                inputs.append(one["constant"])
                continue
            number = one.get("buffer", one.get("updates"))
            cells = tensors[one["role"] if "role" in one else stated[number]["role"]]
            given = one["given"] if "role" in one else stated[number]["given"]
            inputs.append(self._own(cells, given, is_kept="updates" in one))
            if number is not None:
                written[number] = inputs[-1]
                has_copies |= inputs[-1] is not cells
            if "role" in one and "float" in type_of(cells):
                kind = kind or type_of(cells)
        returned = self._module(inputs, kind or "float32")
        if len(returned) == 1 and returned[0] is None and len(written) == len(stated):
            if not has_copies:
                return None  # it wrote all that there is
            returned = [written[number] for number in range(len(stated))]
        if len(returned) != len(stated):
            raise ValueError(f"returned {len(returned)} outputs: the task's reference gives {len(stated)}")
        return tuple(map(self._narrowed, returned, stated))

    def _own(self, cells: Any, given: str, is_kept: bool) -> Any:
        """Return a tensor of the task's type, with a copy of the cells where it is another type or they are kept."""
        if given in WIDER:
            return tensor_of(to_numpy(cells), given, self._torch, self._device)
        return copy_of(cells) if is_kept else cells

    def _narrowed(self, value: Any, output: Mapping[str, Any]) -> Any:
        """Return an output in the type that carries its numbers, where bitgate's tensors have not its own."""
        if output["given"] not in WIDER:
            return value
        if self._device != "cpu":
            return self._narrowed_on_device(value, output)
        cells = as_array(value, np.dtype(output["given"]))
        if str(cells.dtype) != output["given"]:
            raise TypeError(f"returned {output['role']} in {cells.dtype}: its type is {output['given']}")
        check_bools(cells)
        narrow = cells.astype(DTYPES[WIDER[output["given"]]].numpy)
        _check_held(output, (narrow != cells).any())
        return narrow

    def _narrowed_on_device(self, value: Any, output: Mapping[str, Any]) -> Any:
        torch = torch_module()
        if type(value) is not torch.Tensor or type_of(value) != output["given"]:
            found = type_of(value) if type(value) is torch.Tensor else type(value).__name__
            raise TypeError(f"returned {output['role']} in {found}: its type is {output['given']}")
        check_bools(value)
        narrow = value.to(getattr(torch, DTYPES[WIDER[output["given"]]].numpy.name))
        _check_held(output, bool((narrow != value).any()))
        return narrow


def _check_held(output: Mapping[str, Any], is_other: bool) -> None:
    if is_other:
        raise ValueError(f"returned {output['role']} with integers beyond 32 bits, of which the reference has none")
