"""Seeded defects as mutants: the smallest value or statement that holds the edit, with a switch."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.cpp_structure import structure

from bitgate.core import paths
from bitgate.core.project import ours
from bitgate.kernel.registry import families
from bitgate.tools.faults.fault import Fault, read_faults
from bitgate.tools.faults.mutation import seeded
from bitgate.tools.faults.mutation.campaign import MutationSetup
from bitgate.tools.faults.mutation.mutant import Mutant
from bitgate.tools.faults.mutation.schema import behind_switch
from bitgate.tools.faults.mutation.seeded import found_by_switch, mutant_of, switchable
from bitgate.tools.faults.mutation.trial import Fate, MutantTrial

TEXT = """\
template <int n> int sum(const int* p, int a) {
  int found = 0;
  for (int i = 0; i < a; ++i)
    found += p[i]; // all of them
  static_assert(n < 4);
  return found + n;
}
"""


def _fault(find: str, replace: str) -> Fault:
    return Fault("one", "nothing", "kernels/k.hpp", find, replace)


@pytest.fixture
def root(tmp_path: Path) -> Path:
    (tmp_path / "kernels").mkdir()
    (tmp_path / "kernels" / "k.hpp").write_text(TEXT)
    return tmp_path


@pytest.mark.parametrize(
    ("find", "replace", "original", "mutated"),
    [
        ("i < a;", "i < a - 1;", "a", "a - 1"),
        ("p[i];", "p[i + 1];", "i", "i + 1"),
        ("found += p[i]; //", "if (i) found += p[i]; //", "found += p[i];", "if (i) found += p[i];"),
        ("return found + n;", "return n;", "found + n", "n"),
        ("return found + n;", "if (a) return 1; return found + n;", "{", "{   int found = 0;"),
    ],
)
def test_the_smallest_part_that_holds_the_edit(
    root: Path, find: str, replace: str, original: str, mutated: str
) -> None:
    mutant = mutant_of(_fault(find, replace), root)
    assert mutant is not None
    assert mutant.original.startswith(original)
    assert mutant.mutated.startswith(mutated)


@pytest.mark.parametrize(
    ("find", "replace"),
    [("n < 4", "n < 5"), ("template <int n>", "template <int n = 3>"), ("(const int* p", "(int* p")],
)
def test_what_a_compiler_must_know_is_built_alone(root: Path, find: str, replace: str) -> None:
    assert mutant_of(_fault(find, replace), root) is None


def test_the_switch_gives_the_fault_or_the_source() -> None:
    """Of each file with seeded defects: the text with all of them off, and with one on."""
    root = ours().root
    faults = [fault for fault in read_faults(ours().faults) if fault.file.endswith("implicit_gemm/rows.hpp")]
    mutants = switchable(faults, root)
    numbered = dict(enumerate(mutants, 1))
    text = (root / faults[0].file).read_text()
    schema = behind_switch(text, numbered)
    assert len(numbered) >= len(faults) - 1 > 0
    assert structure(schema) == structure(text)
    assert schema.count("\n") == text.count("\n")


def test_coincidences_can_be_switched() -> None:
    faults = read_faults([path for path in ours().faults if path.stem == "coincidences"])
    assert len(switchable(faults, ours().root)) == len(faults) > 30


FAULTS = """
[[fault]]
name = "last_cell_lost"
imitates = "a loop that ends early, and comments in what stands there"
file = "kernels/naive_reduction/naive_reduction.hip.cpp"
find = "    y[offset_of(geometry.y, {o, 0, i})] = Reduced<T>::narrow(sum);"
replace = '''
    if (geometry.length > 2) // a comment
      sum = 0;
    y[offset_of(geometry.y, {o, 0, i})] = Reduced<T>::narrow(sum);'''

[[fault]]
name = "the_same_program"
imitates = "nothing"
file = "kernels/naive_reduction/naive_reduction.hip.cpp"
find = "= Reduced<T>::narrow(sum);"
replace = "= Reduced<T>::narrow((sum));"
"""
CASES = """
[[case]]
name = "tiny"
pass = "reduction"
dtypes = "i32"
kinds = "sum"
kernels = "naive_reduction"
shape = "o2l5i3"
tier = "smoke"
why = "a row of several cells"
"""
TEST = """
from bitgate.testing import verified

test_bits = verified("one_case")
"""


def _tried(tmp_path: Path, faults: str, *arguments: str) -> tuple[Any, str]:
    """Return the document of a run on a suite of one case, which leaves a hole, and what the run said."""
    suite = tmp_path / "one_case"
    suite.mkdir()
    (suite / "cases.toml").write_text(CASES)
    (suite / "test_bits.py").write_text(TEST)
    (tmp_path / "faults.toml").write_text(faults)
    path = os.pathsep.join([str(Path(paths.__file__).parents[2]), os.environ.get("PYTHONPATH", "")])
    command = [sys.executable, "-m", "bitgate", "faults", "run", "--file", "faults.toml", "--suites", "one_case"]
    environment = {**os.environ, "PYTHONPATH": path, "BITGATE_OUT": str(tmp_path / "out")}
    run = subprocess.run(
        [*command, "--json", *arguments], cwd=tmp_path, env=environment, capture_output=True, text=True, check=False
    )
    assert run.returncode == 1, run.stderr
    return json.loads(run.stdout), run.stderr


def test_what_the_switch_does_not_find_is_built_alone(tmp_path: Path) -> None:
    document, said = _tried(tmp_path, FAULTS)
    found, hole = document["faults"]
    assert (found["killed"], found["verdict"]) == (True, "MISMATCH")
    assert "test_bits[reduction_i32_o2l5i3_sum__naive_reduction_i32" in found["by"]
    assert (hole["killed"], hole["note"]) == (False, "stays green over 1 verdicts: a hole")
    assert "library of 2 edits" in said
    assert document["by_family"]["naive_reduction"]["killed"] == 1


def test_what_does_not_compile_in_a_family_is_not_looked_for_in_the_next(monkeypatch: pytest.MonkeyPatch) -> None:
    """A header's edit that a compiler rejects is built alone, once, instead of being searched in 20 libraries."""
    root, asked = ours().root, list[str]()
    faults = [fault for fault in read_faults(ours().faults) if fault.file == "kernels/include/bitgate/number.hpp"]
    mutants = switchable(faults, root)
    own = {name: family for name, family in families().items() if name in ("naive_reduction", "naive_softmax")}

    def rejected(_setup: Any, family: Any, queue: list[Mutant], *_others: Any) -> Iterator[MutantTrial]:
        asked.append(family.name)
        yield from (MutantTrial(mutant, family.name, Fate.NOT_COMPILABLE) for mutant in queue)

    monkeypatch.setattr(seeded, "try_in_family", rejected)
    nothing: Any = None  # what only a library needs
    setup = MutationSetup(nothing, own, {}, nothing, sample=1, drawn=0, seed=0, limit=1, jobs=1, say=print)
    assert not list(found_by_switch(setup, mutants, root))
    assert asked == ["naive_reduction"]


LONGER_ROWS = """
[[fault]]
name = "last_cell_of_longer_rows_lost"
imitates = "a bound that short rows never meet"
file = "kernels/naive_reduction/naive_reduction.hip.cpp"
find = '''
l < geometry.length; ++l)
      sum'''
replace = '''
l < geometry.length - (geometry.length > 9); ++l)
      sum'''
"""


def test_a_drawn_case_shows_a_hole(tmp_path: Path) -> None:
    (hole,) = _tried(tmp_path, LONGER_ROWS, "--drawn", "60")[0]["faults"]
    assert not hole["killed"]
    assert hole["note"].startswith("a hole; red: bitgate verify ")
    assert "reduction_" in hole["note"]
