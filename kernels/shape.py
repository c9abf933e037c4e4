"""How an instance of an implicit GEMM cuts its work: a row of a family's table, the instance's name and its facts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from bitgate.kernel import Instance
from bitgate.operation import DTYPES, Accumulation, DtypeSet

from .channels_last import ANY_LAYOUT
from .cpp_names import WAVES

GENERAL, ODD_C, POINTWISE, POINTWISE_STRIDE_1 = "", "odd_c", "1x1p0", "1x1s1p0"
"""What an instance takes for granted: nothing; nothing, but taps and channels are one reduction; a filter of one tap
without padding; the same with stride 1."""


@dataclass(frozen=True)
class Shape:
    """Tile, vectors of A, B and C, waves, fragment, lanes of a wave; specialisation, groups that make one GEMM, and
    steps of the reduction that are on their way at once."""

    tile: tuple[int, int, int]
    vector: tuple[int, int, int]
    waves: int
    fragment: tuple[int, int, int]
    wave: int
    special: str = GENERAL
    merge: int = 1
    depth: int = 1

    def name(self, types: str, parts: str = "") -> str:
        """Return a name like f16_64x64x32_a8b8c8_1x1p0_m8_d2_w32; ``parts`` come after the tiling."""
        tiling = "{}_{}x{}x{}_a{}b{}c{}".format(types, *self.tile, *self.vector)
        special = f"_{self.special}" * bool(self.special)
        return (
            tiling
            + parts
            + special
            + f"_m{self.merge}" * (self.merge > 1)
            + f"_d{self.depth}" * (self.depth > 1)
            + self.end
        )

    @property
    def end(self) -> str:
        """How names end that are for waves of these lanes."""
        return WAVES[self.wave]

    def instance(
        self,
        group: str,
        dtypes: str,
        *,
        name: str = "",
        layouts: Sequence[str] = ANY_LAYOUT,
        ndims: tuple[int, ...] = (1, 2, 3),
        more_threads: int = 0,
        rounds_slices: bool = False,
        operations: tuple[str, ...] | None = None,
    ) -> Instance:
        """``more_threads`` of a block beside those that multiply; integers are summed in i32."""
        is_float = DtypeSet.parse(dtypes).inp.is_float
        return Instance(
            name=name or self.name(dtypes),
            group=group,
            dtypes=(dtypes,),
            layouts=tuple(layouts),
            ndims=ndims,
            accumulation=Accumulation(DTYPES["f32" if is_float else "i32"]),
            tile=self.tile,
            vector=self.vector,
            block_size=more_threads + self.waves * self.wave,
            wave_size=self.wave,
            fragment=self.fragment,
            operations=operations,
            rounds_slices=rounds_slices,
            traits={"special": self.special, "merge": self.merge},
        )
