"""Edits that undo a mistake: what they offer in a C++ text, and the names that a place may use."""

from __future__ import annotations

import pytest

from bitgate.tools.faults.locate.repairs import REPAIRS, repair_makers
from bitgate.tools.faults.locate.scope import Members
from bitgate.tools.faults.mutation.operators import OPERATORS, mutants_of

STRUCTS = "struct Axis { int64_t stride, dilation; float scale; }; struct Pad { int64_t left; int64_t right; };"
HEAD = "int f(int a, int b, float x, int* p, const Axis& axis, const Pad& pad)"


def edits(body: str, operator: str) -> list[tuple[str, str]]:
    makers = repair_makers(Members([STRUCTS]))
    found = mutants_of(f"{HEAD} {{ {body} }}", "k.hpp", makers=makers).mutants
    return [(one.original, one.mutated) for one in found if one.operator == operator]


@pytest.mark.parametrize(
    ("operator", "body", "expected"),
    [
        ("sibling", "return a;", [("a", "b")]),
        ("sibling", "return axis.stride;", [("axis.stride", "axis.dilation")]),
        ("sibling", "return pad.left;", [("pad.left", "pad.right")]),
        ("sibling", "return x;", []),  # no other float
        ("sibling", "return blockIdx.x;", [("blockIdx.x", "blockIdx.y"), ("blockIdx.x", "blockIdx.z")]),
        ("sibling", "a = 3;", []),  # what is assigned to is kept
        ("sibling", "for (int i = 0; i < 8; ++i) g();", []),  # another variable would not end the loop
        ("index", "return p[0];", [("0", "1"), ("0", "2")]),
        ("index", "return p[2];", [("2", "0"), ("2", "1")]),
        ("axis", "return p[a];", [("a", "a == 0 ? 1 : a"), ("a", "a == 1 ? 2 : a")]),
        ("neighbour", "return a < b;", [("b", "b - 1")]),
        ("neighbour", "return a <= b;", [("b", "b + 1")]),
        ("neighbour", "return p[a];", [("a", "a + 1"), ("a", "a - 1")]),
        ("neighbour", "return a / b;", [("a", "a + 1"), ("a", "a - 1")]),
        ("neighbour", "return 4;", [("4", "3")]),
        ("neighbour", "return 1;", [("1", "2")]),
        ("operand", "return a + b;", [("a + b", "a"), ("a + b", "b")]),
        ("operand", "return a - b;", [("a - b", "a")]),
        ("factor", "return p[a];", [("a", "a * b")]),
        ("factor", "return g(p + a);", [("a", "a * b")]),
        ("grouping", "return (a + b) * 3;", [("(a + b) * 3", "a + b * 3")]),
        ("grouping", "return a + b * 3;", [("a + b * 3", "(a + b) * 3")]),
        ("grouping", "return a * b + 3;", [("a * b + 3", "a * (b + 3)")]),
        ("extremum", "return std::min<int>(a, b);", [("std::min<int>(a, b)", "std::max<int>(a, b)")]),
        ("extremum", "return fmaxf(x, 0);", [("fmaxf(x, 0)", "fminf(x, 0)")]),
        ("extremum", "return minus(a, b);", []),
        ("division", "return a % b;", [("a % b", "a / b")]),
        ("position", "return a++;", [("a++", "++a")]),
        ("position", "a++;", []),  # the value is not used
        ("exchange", "g(a, b);", [("g(a, b)", "g(b, a)")]),
        ("exchange", "g(a, p);", []),  # of different types
        ("synchronized", "__syncthreads(); g(a);", [("g(a);", "__syncthreads(); g(a);")]),
        ("synchronized", "__syncthreads(); BITGATE_LDS(Cells, lds);", []),  # it is a declaration
        ("synchronized", "g(a);", []),  # a function without barriers need not be a kernel's
    ],
)
def test_an_operator(operator: str, body: str, expected: list[tuple[str, str]]) -> None:
    assert operator in REPAIRS
    assert edits(body, operator) == expected


def test_no_mutant_is_drawn_of_a_repair() -> None:
    assert set(REPAIRS) - set(OPERATORS) == set(REPAIRS) - {"axis"}
    drawn = mutants_of(f"{HEAD} {{ return std::min(a, pad.left) / 4; }}", "k.hpp").mutants
    assert {one.operator for one in drawn} <= set(OPERATORS)


def test_a_bound_may_be_another_variable_of_the_members_type() -> None:
    text = "void f(const Pad& pad, int64_t limit) { for (int64_t i = 0; i < pad.right; ++i) g(); }"
    found = mutants_of(text, "k.hpp", makers=repair_makers(Members([STRUCTS]))).mutants
    assert ("pad.right", "limit") in {(one.original, one.mutated) for one in found}


def test_a_member_of_several_structs_has_the_siblings_of_each() -> None:
    members = Members(["struct A { int n, m; }; struct B { int n; int k; float x; };"])
    found = mutants_of("int f() { return g().n; }", "k.hpp", makers=repair_makers(members)).mutants
    assert [one.mutated for one in found] == ["g().k", "g().m"]
    found = mutants_of("int f(const B& b) { return b.n; }", "k.hpp", makers=repair_makers(members)).mutants
    assert [one.mutated for one in found] == ["b.k"]


def test_names_that_share_a_word_come_first() -> None:
    text = "int f(int row, int q, int r, int s, int t, int u, int x_row) { return row; }"
    found = mutants_of(text, "k.hpp", makers=repair_makers(Members([]))).mutants
    assert [one.mutated for one in found] == ["q", "r", "s", "x_row"], "at most four, sorted as all mutants are"


def test_a_function_without_captures_knows_its_own_names_alone() -> None:
    own = "void f(int a, int b) { auto g = [%s](int c, int d) { return c; }; }"
    makers = repair_makers(Members([]))
    alone, all_of_it = (
        [one.mutated for one in mutants_of(own % captured, "k.hpp", makers=makers).mutants] for captured in ("", "&")
    )
    assert (alone, all_of_it) == (["d"], ["a", "b", "d"])
