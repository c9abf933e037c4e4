"""Step 5, called in a child: bitgate's operations on tensors in device memory, compared with those on the host."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import numpy as np

from bitgate.lab.bringup.server import StepAnswer
from bitgate.model import DTYPES, Tensor
from bitgate.model.host_tensor import HostTensor
from bitgate.numerics.digest import digest, finish
from bitgate.numerics.fill import TensorFill, make_tensor
from bitgate.runtime.errors import HipError
from bitgate.runtime.tools import DeviceTools, differences_at, sums_at
from bitgate.verify.session import Session

SHAPE = (3, 7, 129)
STRIDES = (1000, 140, 1)
"""Strides with padding between rows and planes, and a last row that fills no block."""


def tools(report: Callable[[str], None], *, target: str, project: Any) -> StepAnswer:
    """Check fill, digest and comparison in every type."""
    session = Session(target, progress=report)
    checks = 0
    wrong: list[str] = []
    for dtype in DTYPES.values():
        tensor = Tensor("result", dtype, "abc", SHAPE, STRIDES)
        try:
            for text in _compared(session, tensor):
                checks += 1
                wrong += [f"{dtype.name}: {text}"] if text else []
        except HipError as error:
            wrong.append(f"{dtype.name}: {error}")
            break  # after the first error a GPU's context gives only errors
    sentence = f"{checks} of {checks} figures over {len(DTYPES)} types are the host's"
    shown = "; ".join(wrong[:4]) + (f"; and {len(wrong) - 4} more" if wrong[4:] else "")
    return StepAnswer(sentence, shown, {"checks": checks, "wrong": wrong})


def _compared(session: Session, tensor: Tensor) -> Iterator[str]:
    device, own = session.opened.device, session.opened.device_tools
    fills = {"integers": TensorFill("integer", 1), "reals": TensorFill("real")}
    for name, fill in fills.items():
        if own.can_fill(tensor, fill):
            with device.alloc(tensor.bytes, name=name) as buffer:
                own.fill(buffer.pointer, tensor, fill, 5)
                device.synchronize()
                made = HostTensor(tensor, np.empty(tensor.space, tensor.dtype.numpy))
                buffer.download(made.storage)
            expected = make_tensor(tensor, fill, 5)
            bad = made.storage.view(np.uint8) != expected.storage.view(np.uint8)
            yield f"fill of {name}: {np.count_nonzero(bad)} bytes are not the host's" if bad.any() else ""
    yield from _sums(device, own, make_tensor(tensor, TensorFill("integer", 1), 6))


def _sums(device: Any, own: DeviceTools, host: HostTensor) -> Iterator[str]:
    """Check the digest, and the comparison of two tensors that differ in one cell."""
    tensor = host.tensor
    other = HostTensor(replace(tensor), host.storage.copy())
    place = tensor.elements - 2
    index = tuple(int(i) for i in np.unravel_index(place, tensor.lengths))
    other.bits[index] ^= tensor.dtype.bits.type(1)
    with device.alloc(tensor.bytes, name="one") as one, device.alloc(tensor.bytes, name="two") as two:
        one.upload(host.storage)
        two.upload(other.storage)
        own.clear()
        tickets = own.digest(one.pointer, tensor), own.differences(one.pointer, two.pointer, tensor)
        answers = own.read()
    made, expected = finish(sums_at(answers, tickets[0]), tensor), digest(host)
    yield f"digest {made} is not the host's, {expected}" if made != expected else ""
    found = differences_at(answers, tickets[1])
    if (found.count, found.first) != (1, place):
        yield f"comparison finds {found.count} differing cells, the first {found.first}: there is one, {place}"
    else:
        yield ""
