"""A kernel's tiles, stated by an owner: coverage asks for one tile, two, and three or more along each length."""

from __future__ import annotations

from typing import Any

import pytest

from bitgate.kernel.registry import families
from bitgate.kernel.resolved import kernel_called
from bitgate.model import parse_case_id
from bitgate.tools.coverage.dispatch import dispatch_coverage
from bitgate.tools.coverage.ran import predicted

ROWS = "vector=(1, 1, 1)"
"""Of the example's instance; its table has rows of 1 to 33 columns."""


def tiled(example: Any, tiles: str) -> Any:
    repository = example("weighted_sums")
    declaration = repository.folder / "kernels" / "weighted_sums" / "declaration.py"
    text = declaration.read_text()
    assert text.count(ROWS) == 1
    declaration.write_text(text.replace(ROWS, f"{ROWS}, tiles={tiles}"))
    return repository


def holes(repository: Any) -> dict[str, str]:
    """What the words name of tiles -> the case that closes it."""
    document = repository.bitgate("coverage", "--strength=2", "--top=40", "--json").document
    return {hole["words"]: hole["row"] for hole in document["uncovered"] if "tile" in hole["words"]}


def test_a_table_that_never_passes_two_tiles_has_a_hole(example: Any) -> None:
    found = holes(tiled(example, '{"c": 32}'))
    assert found["three tiles or more along C"] == "weighted_sums_f32_r1c65"
    assert "two tiles along C" not in found  # 33 columns


def test_a_table_that_has_them_has_none(example: Any) -> None:
    found = holes(tiled(example, '{"c": 16}'))
    assert "three tiles or more along C" not in found
    assert found["two tiles along C"] == "weighted_sums_f32_r1c17"


def test_without_tiles_nothing_is_asked_for(example: Any) -> None:
    repository = example("weighted_sums")
    (part,) = repository.bitgate("coverage", "--json").document["passes"]
    assert part["factors"] == ["dtypes", "r", "c", "gap"]


@pytest.mark.parametrize(
    ("tiles", "said"),
    [
        ('{"q": 16}', "instance f32: tiles names 'q', which is not a length of weighted_sums: known are r, c"),
        ('{"c": 0}', "instance 'f32': tiles: c is 0: give a number from 1 up"),
        ('{"c": "16"}', "Expected 'int', got 'str' - at '$.instances[0].tiles[...]'"),
    ],
)
def test_tiles_that_cannot_be_are_named(example: Any, tiles: str, said: str) -> None:
    done = tiled(example, tiles).bitgate("coverage", "--json")
    assert done.code == 2
    assert said in done.err


def test_dispatch_counts_each_case_by_its_instances_tiles() -> None:
    family = families()["batched_gemm"]
    small = min((i for i in family.instances if i.tile), key=lambda i: i.tile or ())
    assert small.tile is not None
    k = 3 * small.tile[2]
    layout, dtype = small.layouts[0], small.dtypes[0]
    case = f"gemm_{dtype}_{layout}_b1m8n8k{k}"
    ran = list(predicted(parse_case_id(case), kernel_called({family.name: family}, family.name, small.name)))
    (way,) = dispatch_coverage(ran, {family.name: family})
    (met,) = [factors for path, factors in way.met.items() if way.paths.get(path)]
    assert met["k_tiles"] == {">2": 1}
    assert met["m_tiles"] == {"1": 1}
    assert "two tiles along K" in {one.words for one in way.unmet}
