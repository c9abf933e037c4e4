"""Requests of the next case, which are under way while a case is judged."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass

from bitgate.model.host_tensor import HostTensor
from bitgate.verify.launcher_messages import AskKernel, LaunchFilled
from bitgate.worker.worker import Request


@dataclass(frozen=True, eq=False)
class Ahead:
    """A request of the next case that is under way: where its outputs will be, the number of its process, and whose
    ``turn`` it is for."""

    asked: Request
    outputs: list[dict[str, HostTensor]]
    process: int
    turn: int


class DiedOfAnother(Exception):
    """The end of the process at a request of the next case, or before it began with this one, which is made again."""


def key_of(message: AskKernel | LaunchFilled) -> Hashable:
    """Return what a request asks: the next case asks the same, or what began ahead is not for it."""
    if isinstance(message, AskKernel):
        return message.kernel, message.case, message.refused, message.states
    return message.kernel, message.case, message.workspace, message.plan, len(message.steps), message.as_kernels
