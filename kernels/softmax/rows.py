"""What declarations of kernels on rows share: their instances, clauses and the threads that have a row."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

from bitgate.kernel import (
    ANY_INTEGER,
    CellWrite,
    Dispatch,
    Instance,
    KernelFamily,
    MapLaunch,
    Option,
    Refusal,
    Registered,
    SumLevel,
    ThreadMap,
    element,
    units,
)
from bitgate.operation import F32_ACCUMULATION, SizedProblem

from ..cpp_names import WAVES
from ..library_family import library_family
from ..thread_maps import LinearMap, linear_launch

ELEMENTS = ("f32", "f16", "bf16")
NAIVE_BLOCK, MOST_NAIVE_BLOCKS = 64, 1 << 20
BLOCK = 256
MOST_BLOCKS = "16384"


def _instances(operations: tuple[str, ...], name: str, group: str, dtype: str, **more: Any) -> Iterator[Instance]:
    """Yield an instance for each operation, whose name it begins with where a family has several."""
    for operation in operations:
        yield Instance(
            name=f"{operation}_{name}" if len(operations) > 1 else name,
            group=group,
            dtypes=(dtype,),
            layouts=(),
            ndims=(0,),
            accumulation=F32_ACCUMULATION,
            vector=(1, 1, 1),
            operations=(operation,),
            **more,
        )


def supports(problem: SizedProblem, instance: Instance, options: Mapping[str, str]) -> Refusal | None:
    """None, or the first clause that fails, in the order in which the libraries test them."""
    if str(problem.operation) not in (instance.operations or ()):
        return Refusal("operation", f"{instance.name} does not compute {problem.operation}")
    if problem.dtypes.canonical not in instance.dtypes:
        return Refusal("dtypes", f"{problem.dtypes} is not {' or '.join(instance.dtypes)}")
    return None


def naive_family(declaration: str, operations: tuple[str, ...], kernel: str) -> KernelFamily:
    """One thread a row, in order; ``declaration`` is its ``__file__``."""
    folder = Path(declaration).parent

    def dispatch(problem: SizedProblem, instance: Instance, options: Mapping[str, str]) -> Dispatch | None:
        return Dispatch(path="naive", launches=1)

    def thread_map(problem: SizedProblem, instance: Instance, options: Mapping[str, str]) -> LinearMap:
        does = "one thread a row, in order"
        launch = linear_launch(kernel, does, problem.sizes.r, NAIVE_BLOCK, MOST_NAIVE_BLOCKS)
        return LinearMap(launch, lambda cell: cell[0])

    return KernelFamily(
        name=folder.name,
        operations=operations,
        sources=(f"{folder.name}.hip.cpp",),
        folder=folder,
        platforms=("host", "amd", "nvidia"),
        instances=tuple(
            instance
            for one in ELEMENTS
            for instance in _instances(operations, one, folder.name, one, block_size=NAIVE_BLOCK)
        ),
        options=(),
        supports=supports,
        dispatch=dispatch,
        thread_map=thread_map,
    )


class RowMap(ThreadMap):
    """The map of a way (a block a row, or a wave a row): its threads take the cells in turn."""

    def __init__(self, problem: SizedProblem, instance: Instance, most_blocks: int, meets: str) -> None:
        self.wave, self._threads = instance.wave_size, instance.block_size
        self._way, self._sizes = str(instance.traits["way"]), problem.sizes
        self._most_blocks, self._meets = most_blocks, meets

    @property
    def _rows(self) -> int:
        """Rows that a block has at once."""
        return 1 if self._way == "block" else self._threads // self.wave

    @property
    def _lanes(self) -> int:
        return self._threads // self._rows

    @cached_property
    def launches(self) -> Sequence[MapLaunch]:
        blocks = min(self._most_blocks, -(-self._sizes.r // self._rows))
        return (MapLaunch(f"kernel_{self._way}", f"a {self._way} a row", (blocks, 1, 1), self._threads),)

    def writes(self, cell: tuple[int, ...]) -> Sequence[CellWrite]:
        block, row = divmod(cell[0], self._rows)
        thread = row * self._lanes + (cell[1] % self._lanes if len(cell) > 1 else 0)
        return (CellWrite(0, (block % self.launches[0].grid[0], 0, 0), thread),)

    def tree(self) -> Sequence[SumLevel]:
        """Return the levels: each thread's cells in order, lanes, then waves in LDS."""
        lanes, columns = self._lanes, self._sizes.c
        apart = f"each takes every {lanes}th cell in order, at most {-(-columns // lanes)}"
        levels = [SumLevel("cell", columns, 1, "a row of x"), SumLevel("thread", lanes, 1, apart)]
        if self._way == "block":
            waves = lanes // self.wave
            levels.append(SumLevel("wave", waves, self.wave, f"its lanes, by shuffles: {self._meets}"))
            levels.append(SumLevel("block", 1, waves, "its waves, in LDS by the first wave"))
        else:
            levels.append(SumLevel("wave", 1, self.wave, f"its lanes, by shuffles: {self._meets}"))
        return levels


def tiles(wave: int) -> dict[str, tuple[int, int, int]]:
    """Rows, and cells of each, that a block has at once."""
    return {"block": (1, 1, BLOCK), "wave": (BLOCK // wave, 1, wave)}


def row_family(declaration: str, operations: tuple[str, ...], meets: str) -> KernelFamily:
    """A block a row and a wave a row, in waves of 64 and 32; ``meets`` says what partial results are."""
    name = Path(declaration).parent.name

    def dispatch(problem: SizedProblem, instance: Instance, options: Mapping[str, str]) -> Dispatch | None:
        return Dispatch(path=str(instance.traits["way"]), launches=1)

    def thread_map(problem: SizedProblem, instance: Instance, options: Mapping[str, str]) -> RowMap:
        return RowMap(problem, instance, int(options.get("most_blocks", MOST_BLOCKS)), meets)

    groups = {(one, wave): f"{name}_{one}{end}" for one in ELEMENTS for wave, end in WAVES.items()}
    generated = units(
        f"{name}_rows",  # not the name alone: `norm` is a function of CUDA's and ROCm's device libraries
        {
            group: [Registered(f"Registrations<{element(one)}, {wave}>", (one,), wave)]
            for (one, wave), group in groups.items()
        },
        "dispatch.hpp",
    )
    return library_family(
        declaration,
        operations,
        generated,
        instances=tuple(
            instance
            for (one, wave), group in groups.items()
            for way, tile in tiles(wave).items()
            for instance in _instances(
                operations,
                f"{one}_{way}{WAVES[wave]}",
                group,
                one,
                tile=tile,
                block_size=BLOCK,
                wave_size=wave,
                traits={"way": way},
            )
        ),
        options=(
            Option(
                "most_blocks",
                ANY_INTEGER,
                MOST_BLOCKS,
                "blocks of a launch: further rows are taken in turns",
                drawn=("1", "2", "3", "7"),
            ),
        ),
        supports=supports,
        dispatch=dispatch,
        thread_map=thread_map,
    )
