"""Naive reference convolutions: one thread a result cell, in a stated order of summation (naive_conv.hpp)."""

from __future__ import annotations

from collections.abc import Mapping

from bitgate.kernel import Dispatch, Instance, Option, Refusal, Registered, element, units
from bitgate.operation import CONVOLUTIONS, DTYPES, INPUT_LAYOUTS, Accumulation, ConvProblem, DtypeSet, Pass

from ..clauses import wrong_types
from ..cpp_names import F16_IN_F8_OUT_BF8, F16_WEI_F8_OUT_BF8, FWD
from ..library_family import library_family
from ..thread_maps import LinearMap, cell_number, linear_launch

# Translation unit -> the types that it holds, with all three passes.
GROUPS = {
    **{name: (name,) for name in ("f64", "f32", "f16", "bf16", "i8")},
    **{
        f"f8{flavour}": tuple(
            name.format(f8=f"f8{flavour}", bf8=f"bf8{flavour}")
            for name in ("{f8}", "{bf8}", "{bf8}_{bf8}_{f8}", "{f8}_{bf8}_{f8}", "{bf8}_{f8}_{f8}")
        )
        for flavour in ("ocp", "fnuz")
    },
    "f16_ct": tuple(f"f16_ct{compute}" for compute in ("f8ocp", "bf8ocp", "f8fnuz", "bf8fnuz")),
}
OF_ONE_PASS = {
    Pass.FWD: {"f16_ct": tuple(f"f16_ctinf8{flavour}_ctweibf8{flavour}" for flavour in ("ocp", "fnuz"))},
    Pass.BWD_DATA: {"f16_ct": F16_WEI_F8_OUT_BF8},
    Pass.BWD_WEIGHT: {"bf16": ("bf16_f32_bf16",), "f16_ct": F16_IN_F8_OUT_BF8},
}
"""As GROUPS, with one pass alone."""
ROWS = (
    *((group, dtypes, direction) for group, types in GROUPS.items() for dtypes in types for direction in CONVOLUTIONS),
    *(
        (group, dtypes, direction)
        for direction, groups in OF_ONE_PASS.items()
        for group, types in groups.items()
        for dtypes in types
    ),
)
LAYOUTS = tuple(layout for layouts in INPUT_LAYOUTS.values() for layout in layouts)


def _accumulation(dtypes: str) -> Accumulation:
    """f64 and i8 sum in f64 and i32, all else in f32."""
    return Accumulation(DTYPES[{"f64": "f64", "i8": "i32"}.get(dtypes, "f32")])


INSTANCES = tuple(
    Instance(
        name=f"{direction}_{dtypes}",
        group=f"naive_conv_{group}",
        dtypes=(dtypes,),
        layouts=LAYOUTS,
        ndims=(1, 2, 3),
        accumulation=_accumulation(dtypes),
        vector=(1, 1, 1),
        operations=(direction,),
    )
    for group, dtypes, direction in ROWS
)


def supports(problem: ConvProblem, instance: Instance, options: Mapping[str, str]) -> Refusal | None:
    """Everything but a split reduction and other types."""
    if problem.direction not in (instance.operations or ()):
        return Refusal("operation", f"{instance.name} does not compute {problem.direction}")
    if refusal := wrong_types(problem, instance):
        return refusal
    if problem.split_k not in (1, -1):
        return Refusal("split_k", f"split_k = {problem.split_k}: the reduction is not split")
    return None


def dispatch(problem: ConvProblem, instance: Instance, options: Mapping[str, str]) -> Dispatch | None:
    """One launch for the whole pass; every cell is written, so nothing is cleared first."""
    return Dispatch(path="naive", launches=1, facts={"gemms_count": 1, "buckets": 1, "split_k": 1, "split_n": 1})


def _registered(passes: str, dtypes: str) -> Registered:
    """``passes``: all of them, or one."""
    stated = DtypeSet.parse(dtypes)
    compute = stated.compute_dtype
    types = [*map(stated.of, FWD), *([compute] if stated.compute or stated.own else [])]
    types += [dict(stated.own).get(role, compute) for role in FWD] if stated.own else []
    elements = ", ".join(element(dtype.name) for dtype in types)
    return Registered(f"{passes}<Types<{elements}>>", (_accumulation(dtypes).accumulator.name,))


def thread_map(problem: ConvProblem, instance: Instance, options: Mapping[str, str]) -> LinearMap | None:
    """One thread a cell; which threads a tile has is not stated, nor which of both ``auto`` takes."""
    if options.get("sums") != "cell":
        return None
    result = problem.tensors[problem.result]
    launch = linear_launch("naive", "one thread a cell, in order", result.elements)
    return LinearMap(launch, lambda cell: cell_number(cell, result.lengths))


_ONE_PASS = {Pass.FWD: "Forward", Pass.BWD_DATA: "DataGradient", Pass.BWD_WEIGHT: "WeightGradient"}

GENERATED = units(
    "naive_conv",
    {
        f"naive_conv_{group}": [
            *(_registered("Passes", dtypes) for dtypes in types),
            *(
                _registered(_ONE_PASS[direction], dtypes)
                for direction, groups in OF_ONE_PASS.items()
                for dtypes in groups.get(group, ())
            ),
        ]
        for group, types in GROUPS.items()
    },
)

FAMILY = library_family(
    __file__,
    CONVOLUTIONS,
    GENERATED,
    instances=INSTANCES,
    options=(
        Option(
            "sums",
            ("auto", "cell", "tile", "small_tile"),
            "auto",
            "cell: one thread a result cell. tile: a block a tile of 64 x 64 cells, its operands in LDS; small_tile: of"
            " 16 x 16; the same order of summation. auto: tiles on GPUs, where they do not stand mostly empty.",
            drawn=("cell", "tile", "small_tile"),
        ),
    ),
    supports=supports,
    dispatch=dispatch,
    thread_map=thread_map,
    is_reference=True,
)
