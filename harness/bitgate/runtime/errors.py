"""The error of a HIP call, with advice."""

from __future__ import annotations

from ctypes import CDLL, c_char_p
from typing import Any

from bitgate.worker.mapped import mapped_runtimes

OUT_OF_MEMORY = "hipErrorOutOfMemory"
ADVICE = {
    OUT_OF_MEMORY: "another process may hold the device's memory: see amd-smi process, or nvidia-smi",
    "hipErrorECCNotCorrectable": "the device's memory is defective: see dmesg, reset the device or take it out",
    "hipErrorNoDevice": "the driver lists no device to this process: bitgate doctor says why",
    "hipErrorInvalidDevice": "the device is gone: see HIP_VISIBLE_DEVICES and dmesg",
    "hipErrorInsufficientDriver": "the driver is older than ROCm wants: install the amdgpu driver of this ROCm",
    "hipErrorOperatingSystem": "see the driver's messages in dmesg",
    "hipErrorUnknown": "see the driver's messages in dmesg",
}
"""Advice on errors that are a device's or a driver's, not a kernel's."""


class HipError(Exception):
    """A HIP call that failed: ``name`` is HIP's (``hipErrorOutOfMemory``), ``text`` HIP's sentence for it, ``call``
    what failed."""

    def __init__(self, name: str, text: str, call: str = "") -> None:
        super().__init__(f"{call + ': ' if call else ''}{name}: {text}")
        self.name = name
        self.text = text
        self.call = call

    @property
    def with_advice(self) -> str:
        """The message, and what its reader can do about it where a device is to blame."""
        advice = ADVICE.get(self.name)
        return f"{self}; {advice}" if advice else str(self)


def check(result: Any, call: str) -> Any:
    """Return the value of a hip-python call, None if it returns only its error code. Raises HipError if that is not
    hipSuccess."""
    if result[0]:
        raise hip_error(result[0], call)
    return result[1] if len(result) > 1 else None


def hip_error(code: Any, call: str) -> HipError:
    """Return the exception for a ``hipError_t``; also clear it, so that the next call does not report it again.

    The runtime names the error: hip-python's own list is of the release that it was made for.
    """
    number = int(code)
    runtime = _runtime()
    if runtime is None:
        return HipError(getattr(code, "name", f"error {number}"), "no HIP runtime is loaded", call)
    runtime.hipGetLastError()
    name, text = (function(number) or b"" for function in (runtime.hipGetErrorName, runtime.hipGetErrorString))
    known = name.decode(errors="replace")
    if number != _UNKNOWN and known in ("", "hipErrorUnknown"):
        known = f"error {number}"
    return HipError(known, text.decode(errors="replace") or "the runtime has no words for it", call)


_UNKNOWN = 999


def _runtime() -> Any:
    """Return the runtime that hip-python has loaded, None before it has."""
    paths = mapped_runtimes()
    if not paths:
        return None
    runtime = CDLL(str(paths[0]))
    try:
        for function in (runtime.hipGetErrorName, runtime.hipGetErrorString, runtime.hipGetLastError):
            function.restype = c_char_p
        runtime.hipGetLastError.restype = None
    except AttributeError:
        return None
    return runtime
