"""What most problems answer alike."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping

from bitgate.model.tensor import Tensor


class PlainProblem(ABC):
    """A problem (``Problem`` says what each answer means) without spatial dimensions, of one part that nothing cuts."""

    @property
    @abstractmethod
    def tensors(self) -> Mapping[str, Tensor]: ...

    @property
    @abstractmethod
    def outputs(self) -> tuple[str, ...]: ...

    @property
    def result(self) -> str:
        return self.outputs[0]

    @property
    def result_letters(self) -> str:
        return self.tensors[self.result].layout

    @property
    def layout(self) -> str:
        return ""

    @property
    def ndim(self) -> int:
        return 0

    @property
    def in_place(self) -> tuple[str, ...]:
        return ()

    @property
    def is_split(self) -> bool:
        return False

    @property
    def parts(self) -> int:
        return 1

    @property
    def bytes(self) -> int:
        return sum(tensor.moved_bytes for tensor in self.tensors.values())
