"""A HIP call that failed."""

from __future__ import annotations

from typing import Any


class HipError(Exception):
    """``name`` is HIP's (``hipErrorOutOfMemory``), ``text`` HIP's sentence for it, ``call`` what failed."""

    def __init__(self, name: str, text: str, call: str = "") -> None:
        super().__init__(f"{call + ': ' if call else ''}{name}: {text}")
        self.name = name
        self.text = text
        self.call = call


def check(result: Any, call: str) -> Any:
    """The value of a hip-python call, None if it gives only its error code; HipError if that is not hipSuccess."""
    if result[0]:
        raise hip_error(result[0], call)
    return result[1] if len(result) > 1 else None


def hip_error(code: Any, call: str) -> HipError:
    """The exception for a ``hipError_t``; also clears it, so that the next call does not report it again."""
    from hip import hip as module

    hip: Any = module  # hip-python's functions are not typed
    error = hip.hipError_t(int(code))
    hip.hipGetLastError()
    text = hip.hipGetErrorString(error)
    if isinstance(text, tuple):  # with a code before it, as some releases of hip-python return everything
        text = text[-1]
    return HipError(error.name, text.decode(errors="replace") if isinstance(text, bytes) else str(text), call)
