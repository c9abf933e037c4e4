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
from bitgate.tools.judge.conventions import NEW_MODEL, Module, tensor_of, to_numpy, type_of
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
        inputs, outputs, kind = list[Any](), list(problem.outputs), ""
        for one in self._facts["inputs"]:
            if "role" in one:
                cells = tensors[one["role"]]
                carried = one["given"] in WIDER
                own = tensor_of(to_numpy(cells), one["given"], self._torch, self._device) if carried else cells
                inputs.append(own)
                kind = kind or ("" if carried or "float" not in type_of(cells) else type_of(cells))
            else:
                inputs.append(tensors[outputs[one["buffer"]]] if "buffer" in one else one["constant"])
        returned = self._module(inputs, kind or "float32")
        buffers = [one["buffer"] for one in self._facts["inputs"] if "buffer" in one]
        if len(returned) == 1 and returned[0] is None and len(buffers) == len(outputs):
            return None  # it wrote all that there is
        return tuple(map(self._narrowed, returned, self._facts["outputs"]))

    def _narrowed(self, value: Any, output: Mapping[str, Any]) -> Any:
        """Return an output in the type that carries its numbers, where bitgate's tensors have not its own."""
        if output["given"] not in WIDER:
            return value
        if self._device != "cpu":
            return self._narrowed_on_device(value, output)
        cells = as_array(value, np.dtype(output["given"]))
        if str(cells.dtype) != output["given"]:
            raise TypeError(f"returned {output['role']} in {cells.dtype}: its type is {output['given']}")
        return cells.astype(DTYPES[WIDER[output["given"]]].numpy)

    def _narrowed_on_device(self, value: Any, output: Mapping[str, Any]) -> Any:
        torch = torch_module()
        if type(value) is not torch.Tensor or type_of(value) != output["given"]:
            found = type_of(value) if type(value) is torch.Tensor else type(value).__name__
            raise TypeError(f"returned {output['role']} in {found}: its type is {output['given']}")
        return value.to(getattr(torch, DTYPES[WIDER[output["given"]]].numpy.name))
