"""The element types of a problem with any number of tensors."""

from __future__ import annotations

from dataclasses import dataclass

from bitgate.model.dtype import DTYPES, Dtype, DtypeSet, dtype_named


@dataclass(frozen=True)
class TensorTypes:
    """One type for each tensor whose type may differ, in their order; a single one stands for all."""

    names: tuple[Dtype, ...]

    @classmethod
    def parse(cls, text: str) -> TensorTypes:
        """``f16``, ``f16_f32``: one name if all agree. ValueError names the bad part."""
        types = tuple(dtype_named(name) for name in text.split("_"))
        return cls(types[:1] if len(set(types)) == 1 else types)

    def of(self, place: int) -> Dtype:
        """The type of the tensor at that place of those that may differ."""
        return self.names[0] if len(self.names) == 1 else self.names[place]

    @property
    def canonical(self) -> str:
        """How instances name what they take."""
        return str(self)

    def __str__(self) -> str:
        return "_".join(map(str, self.names))


def spelled(text: str) -> str:
    """Types as they are written in case ids: of operands and result, or one name a tensor of an operation that has
    others. ValueError names the bad part."""
    plain = all(name in DTYPES for name in text.split("_"))
    return str(TensorTypes.parse(text) if plain else DtypeSet.parse(text))
