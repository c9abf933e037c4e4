"""Kernels of code objects on an AMD GPU, through HIP's module functions.

They are called through ctypes: how hip-python takes the ``extra`` array differs between its releases.
"""

from __future__ import annotations

from ctypes import CDLL, POINTER, Array, byref, c_char_p, c_int, c_size_t, c_uint, c_void_p, cast, create_string_buffer
from pathlib import Path
from typing import Any

from bitgate.runtime.errors import HipError
from bitgate.tools.capsule.manifest import KernelStep

_BUFFER_POINTER, _BUFFER_SIZE, _END = 1, 2, 3
"""HIP_LAUNCH_PARAM_...: the meaning of the next entry of ``extra``."""

_FUNCTIONS: dict[str, list[Any]] = {
    "hipModuleLoad": [POINTER(c_void_p), c_char_p],
    "hipModuleUnload": [c_void_p],
    "hipModuleGetFunction": [POINTER(c_void_p), c_void_p, c_char_p],
    "hipModuleLaunchKernel": [c_void_p, *[c_uint] * 7, c_void_p, c_void_p, POINTER(c_void_p)],
}


class ModulePlayer:
    """A player of code objects; a context manager that unloads them.

    ``runtime`` is the HIP library that this process runs on, ``folder`` the capsule's.
    """

    def __init__(self, runtime: Path, folder: Path) -> None:
        self._hip = CDLL(str(runtime))
        for name, arguments in _FUNCTIONS.items():
            function = getattr(self._hip, name)
            function.restype, function.argtypes = c_int, arguments
        self._hip.hipGetErrorName.restype = c_char_p
        self._hip.hipGetErrorString.restype = c_char_p
        self._folder = folder
        self._modules: dict[str, c_void_p] = {}

    def __enter__(self) -> ModulePlayer:
        return self

    def __exit__(self, *_: object) -> None:
        for module in self._modules.values():
            self._hip.hipModuleUnload(module)
        self._modules.clear()

    def launch(self, step: KernelStep, kernargs: bytes, stream: int) -> None:
        """Launch a kernel. Only the explicit arguments are passed: the runtime writes the hidden ones itself."""
        function = c_void_p()
        module = self._module(step.code_object)
        self._call("hipModuleGetFunction", byref(function), module, step.symbol.encode())
        explicit = create_string_buffer(kernargs[: step.kernarg.explicit_bytes], step.kernarg.explicit_bytes)
        size = c_size_t(len(explicit))
        self._call(
            "hipModuleLaunchKernel",
            function,
            *step.grid,
            *step.block,
            step.lds_dynamic,
            stream,
            None,
            _extra(explicit, size),
        )

    def _module(self, file: str) -> c_void_p:
        if file not in self._modules:
            module = c_void_p()
            self._call("hipModuleLoad", byref(module), str(self._folder / file).encode())
            self._modules[file] = module
        return self._modules[file]

    def _call(self, name: str, *arguments: Any) -> None:
        code = getattr(self._hip, name)(*arguments)
        if code:
            error, text = self._hip.hipGetErrorName(code), self._hip.hipGetErrorString(code)
            self._hip.hipGetLastError()
            raise HipError(error.decode(), text.decode(), name)


def _extra(data: Array[Any], size: c_size_t) -> Array[c_void_p]:
    return (c_void_p * 5)(_BUFFER_POINTER, cast(data, c_void_p), _BUFFER_SIZE, cast(byref(size), c_void_p), _END)
