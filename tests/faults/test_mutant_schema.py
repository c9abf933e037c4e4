"""A schema is the source with the switch off, and each mutant with the switch at its number."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.cpp_structure import mutated, structure

from bitgate.core import paths
from bitgate.tools.faults.mutation.operators import mutants_of
from bitgate.tools.faults.mutation.schema import behind_switch, schema_of

KERNELS = paths.root() / "kernels"
SOURCES = ["naive_reduction/naive_reduction.hip.cpp", "reduction/kernels.hpp", "include/bitgate/implicit_gemm/rows.hpp"]

names = st.sampled_from(["a", "b", "7", "0x1Fu", "1", "0", "2.5f", "g(a)", "p[b]", "T<3>::n"])
signs = st.sampled_from(["+", "-", "*", "/", "%", "<<", ">>", "&", "|", "^", "<", "<=", "==", "!=", "&&", "||"])


def _joined(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    return st.one_of(
        st.builds("{} {} {}".format, inner, signs, inner),
        st.builds("({})".format, inner),
        st.builds("{} ? {} : {}".format, inner, inner, inner),
        st.builds("!{}".format, names),
        st.builds("h({}, {})".format, inner, inner),
    )


expressions = st.recursive(names, _joined, max_leaves=8)
statements = st.one_of(
    st.builds("return {};".format, expressions),
    st.builds("if ({}) a += {};".format, expressions, expressions),
    st.builds("for (int i = 0; {}; ++i) p[i] = {};".format, expressions, expressions),
    st.just("__syncthreads();"),
    st.just("if (a) __syncthreads(); else --b;"),
)


@given(st.lists(statements, max_size=3).map("\n  ".join))
def test_the_switch_chooses_one_mutant_or_none(body: str) -> None:
    text = f"int f(int a, int b, int* p) {{\n  {body}\n}}\n"
    mutants = dict(enumerate(mutants_of(text, "k.hpp").mutants, 1))
    schema = behind_switch(text, mutants)
    assert structure(schema) == structure(text)
    for number, mutant in mutants.items():
        if mutant.mutated:
            assert structure(schema, number) == structure(mutated(text, mutant)), mutant.name


@pytest.mark.parametrize("name", SOURCES)
def test_a_kernel_with_all_its_mutants_off_is_the_kernel(name: str) -> None:
    text = (KERNELS / name).read_text()
    mutants = dict(enumerate(mutants_of(text, name).mutants, 1))
    schema = behind_switch(text, mutants)
    assert len(mutants) > 50
    assert structure(schema) == structure(text)
    assert schema.count("\n") == text.count("\n"), "what a compiler says of a line is said of the source's"


def test_a_barrier_is_removed_as_a_statement_and_as_a_branch() -> None:
    text = "void f(int a) { if (a) __syncthreads(); else g(); }"
    [barrier] = [mutant for mutant in mutants_of(text, "k").mutants if mutant.operator == "barrier"]
    schema = behind_switch(text, {5: barrier})
    assert schema == "void f(int a) { if (a) { if (!BITGATE_MUTANT(5)) __syncthreads(); } else g(); }"


def test_mutants_of_one_place_stand_behind_each_other() -> None:
    text = "int f(int a, int b) { if (a < b) return 1; }"
    mutants = dict(enumerate((m for m in mutants_of(text, "k").mutants if m.original == "a < b"), 1))
    assert behind_switch(text, mutants) == (
        "int f(int a, int b) { if ((BITGATE_MUTANT(1) ? (true) : (BITGATE_MUTANT(2) ? (!(a < b)) :"
        " (BITGATE_MUTANT(3) ? (a <= b) : static_cast<bool>(a < b))))) return 1; }"
    )


def test_another_axis_is_reached_where_this_one_is_meant() -> None:
    text = "int f(int axis, int* s) { return s[axis]; }"
    mutants = dict(enumerate(mutants_of(text, "k").mutants, 1))
    assert behind_switch(text, mutants) == (
        "int f(int axis, int* s) { return s[(BITGATE_MUTANT_AT(1, axis == 1) ? (axis == 1 ? 0 : axis) :"
        " (BITGATE_MUTANT_AT(2, axis == 2) ? (axis == 2 ? 1 : axis) : (axis)))]; }"
    )


def test_the_switch_is_declared_once_and_lines_are_the_sources(tmp_path: Path) -> None:
    schema = schema_of("int a;\n", "/k/k.hpp", {}, 7)
    assert schema == '#define BITGATE_MUTANTS 7\n#include "bitgate/mutants.hpp"\n#line 1 "/k/k.hpp"\nint a;\n'
