"""Sum, maximum and argmax along an axis: a block a row, a wave a row, or a block a tile of neighbouring rows; rows may
be cut into slices that meet by atomics in the workspace.

``supports`` and ``dispatch`` follow what an instance asserts about a problem, not the C++: where the two disagree, one
is wrong.
"""

from __future__ import annotations

from collections.abc import Mapping

from bitgate.kernel import ANY_INTEGER, Dispatch, Instance, Option, Refusal, Registered, element, units
from bitgate.operation import DTYPES, F32_ACCUMULATION, Accumulation, Kind, ReductionProblem

from ..cpp_names import WAVES
from ..library_family import library_family
from ..limits import MAX_GRID_YZ
from .thread_map import ReductionMap

BLOCK = 256
SPELLINGS = {"f32": ("f32",), "f16": ("f16",), "bf16": ("bf16",), "i8": ("i8", "i8_i8_i32"), "i32": ("i32",)}
"""Of the types of x, x and y, by the type of x."""

SLICE_CELLS = 4096
MOST_SLICES = 64
"""Of rows that are cut as the kernel likes."""
MOST_BLOCKS = "16384"
MAX_RESULTS = 2**48
"""Their bytes in the workspace fit 64 bits."""


def _tiles(wave: int) -> dict[str, tuple[int, int, int]]:
    """Rows along outer, along inner, and cells of a row, that a block has at once."""
    return {"block": (1, 1, BLOCK), "wave": (BLOCK // wave, 1, wave), "columns": (1, wave, BLOCK // wave)}


def _instance(dtype: str, way: str, wave: int) -> Instance:
    return Instance(
        name=f"{dtype}_{way}{WAVES[wave]}",
        group=f"reduction_{dtype}{WAVES[wave]}",
        dtypes=SPELLINGS[dtype],
        layouts=(),
        ndims=(0,),
        accumulation=F32_ACCUMULATION if DTYPES[dtype].is_float else Accumulation(DTYPES["i32"]),
        tile=_tiles(wave)[way],
        vector=(1, 1, 1),
        block_size=BLOCK,
        wave_size=wave,
        traits={"way": way},
    )


def supports(problem: ReductionProblem, instance: Instance, options: Mapping[str, str]) -> Refusal | None:
    """None, or the first clause that fails, in the order in which the library tests them."""
    if not isinstance(problem, ReductionProblem):
        return Refusal("operation", f"only reduction, not {problem.operation}")
    if problem.dtypes.canonical not in instance.dtypes:
        return Refusal("dtypes", f"{problem.dtypes} is not {' or '.join(instance.dtypes)}")
    if problem.split_k > MAX_GRID_YZ:
        return Refusal("split_k", f"split_k = {problem.split_k}: at most {MAX_GRID_YZ}")
    if problem.outer * problem.inner > MAX_RESULTS:
        return Refusal("index_range", f"{problem.outer} x {problem.inner} results are over 2^48")
    return None


def slices_of(problem: ReductionProblem) -> int:
    """Slices of each row."""
    if problem.split_k != -1:
        return problem.split_k
    return min(max(1, problem.length // SLICE_CELLS), MOST_SLICES)


def dispatch(problem: ReductionProblem, instance: Instance, options: Mapping[str, str]) -> Dispatch | None:
    """One launch; of rows in slices a second one, which makes results of what met in the workspace."""
    slices = slices_of(problem)
    is_split = slices > 1
    carried = 8 if problem.kind is Kind.ARGMAX else 4
    return Dispatch(
        path=str(instance.traits["way"]),
        launches=1 + is_split,
        workspace_bytes=problem.outer * problem.inner * carried * is_split,
        facts={"split_k": slices},
    )


def thread_map(problem: ReductionProblem, instance: Instance, options: Mapping[str, str]) -> ReductionMap:
    return ReductionMap(problem, instance, slices_of(problem), int(options.get("most_blocks", MOST_BLOCKS)))


GENERATED = units(
    "reduction",
    {
        f"reduction_{dtype}{end}": [Registered(f"Registrations<{element(dtype)}, {wave}>", (",".join(spelled),), wave)]
        for dtype, spelled in SPELLINGS.items()
        for wave, end in WAVES.items()
    },
    "dispatch.hpp",
)

FAMILY = library_family(
    __file__,
    ("reduction",),
    GENERATED,
    instances=tuple(
        _instance(dtype, way, wave) for dtype in SPELLINGS for wave in WAVES for way in ("block", "wave", "columns")
    ),
    options=(
        Option(
            "most_blocks",
            ANY_INTEGER,
            MOST_BLOCKS,
            "blocks of a launch along its first dimension: further rows are taken in turns",
            drawn=("1", "2", "3", "7"),
        ),
    ),
    supports=supports,
    dispatch=dispatch,
    thread_map=thread_map,
)
