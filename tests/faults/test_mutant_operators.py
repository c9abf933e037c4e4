"""What is mutated in a C++ text, and what is left alone."""

from __future__ import annotations

import sys

import pytest

from bitgate.core.errors import UsageError
from bitgate.tools.faults.mutation import operators
from bitgate.tools.faults.mutation.operators import OPERATORS, mutants_of, plain_cpp


def edits(body: str, operator: str) -> list[tuple[str, str]]:
    found = mutants_of(f"int f(int a, int b, int* p) {{ {body} }}", "k.hpp").mutants
    return [(mutant.original, mutant.mutated) for mutant in found if mutant.operator == operator]


@pytest.mark.parametrize(
    ("operator", "body", "expected"),
    [
        ("relational", "return a < b;", [("a < b", "a <= b")]),
        ("relational", "return a == b;", [("a == b", "a != b")]),
        ("arithmetic", "return a + b * a;", [("a + b * a", "a - b * a"), ("b * a", "b / a")]),
        ("arithmetic", "return a << b;", [("a << b", "a >> b")]),
        ("assignment", "a += b;", [("a += b", "a -= b")]),
        ("assignment", "a = b;", []),
        ("step", "++a; b--;", [("++a", "--a"), ("b--", "b++")]),
        ("logical", "return a || b;", [("a || b", "a && b")]),
        ("constant", "return 0;", [("0", "1")]),
        ("constant", "return 1;", [("1", "0")]),
        ("constant", "return 41u;", [("41u", "42u")]),
        ("constant", "return 0xFFu;", [("0xFFu", "0x100u")]),
        ("constant", "return 1'000;", [("1'000", "1001")]),
        ("constant", "return 0.5f;", [("0.5f", "0.5f + 1")]),
        ("constant", "return true;", [("true", "false")]),
        ("negation", "if (a < b) return 1;", [("a < b", "!(a < b)")]),
        ("negation", "if (a == b) return 1;", []),  # the relational mutant is the same
        ("negation", "while (a < b) ++a;", [("a < b", "!(a < b)")]),
        ("negation", "return a ? b : 1;", [("a", "!(a)")]),
        ("negation", "if (const int s = g(a); s > b) return s;", [("s > b", "!(s > b)")]),
        ("bounds", "if (a < b) p[a] = 1;", [("a < b", "true")]),
        ("bounds", "for (int i = 0; i < b; ++i) p[i] = 1;", [("i < b", "true")]),
        ("bounds", "return a && b;", [("a && b", "static_cast<bool>(a)"), ("a && b", "static_cast<bool>(b)")]),
        ("barrier", "__syncthreads();", [("__syncthreads();", "")]),
        ("barrier", "transfer.template await<2>();", [("transfer.template await<2>();", "")]),
        ("barrier", "__threadfence();", [("__threadfence();", "")]),
        ("barrier", "launch(a);", []),
        ("axis", "return p[a];", [("a", "a == 1 ? 0 : a"), ("a", "a == 2 ? 1 : a")]),
        ("axis", "return p[a + 1] + p[0];", []),
    ],
)
def test_an_operator(operator: str, body: str, expected: list[tuple[str, str]]) -> None:
    assert operator in OPERATORS
    assert edits(body, operator) == expected


@pytest.mark.parametrize(
    "text",
    [
        "constexpr int n = 4 + 1;",
        "static_assert(4 < 5);",
        "int table[4 + 1];",
        "enum Kind { first = 3 };",
        "template <int n = 3> struct S : T<n + 1> {};",
        "struct S { int bits : 3; };",
        "int f(int a) { switch (a) { case 3: return a; } return a; }",
        "template <int n> int f(int a) { if constexpr (n > 3) return a; return a; }",
        "struct alignas(16) S {};",
        "struct __attribute__((aligned(16))) S {};",
        'struct [[deprecated("since 3")]] S {};',
        "int f() { return sizeof(int[3]); }",
        "struct S { virtual int f(int a) const noexcept = 0; virtual int* g() = 0; };",
        "#define N (3 + 4)\n",
        "#if N > 3\n#endif\n",
        "__global__ void __launch_bounds__(64) kernel(int* p) {}",
        "// 3 + 4\n",
        'const char* text = "3 + 4";',
    ],
)
def test_what_a_compiler_must_know_is_left_alone(text: str) -> None:
    assert mutants_of(text, "k.hpp").mutants == []


def test_what_is_left_alone_is_counted() -> None:
    assert mutants_of("constexpr int n = 4 + 1;", "k.hpp").left_out == {operators.CONSTANT: 3}


def test_a_case_labels_value_is_kept_and_its_statements_mutate() -> None:
    found = mutants_of("int f(int a) { switch (a) { case 3: return a + a; } return a; }", "k.hpp").mutants
    assert [mutant.original for mutant in found] == ["a + a"]


def test_the_other_arm_of_an_if_constexpr_is_mutated() -> None:
    found = mutants_of("template <int n> int f(int a) { if constexpr (n > 3) return a - n; else return a * n; }", "k")
    assert [mutant.original for mutant in found.mutants] == ["a - n", "a * n"]


def test_a_kernel_parses_for_all_its_qualifiers() -> None:
    text = (
        "template <class T>\n__global__ void __launch_bounds__(T::n, (4))\n    k(const T* x, T* y) { y[0] = x[0]; }\n"
    )
    assert [(one.line, one.column, one.original) for one in mutants_of(text, "k").mutants] == [
        (3, 29, "0"),
        (3, 36, "0"),
    ]
    assert len(plain_cpp(text).encode()) == len(text.encode())


def test_lines_that_are_not_compiled_hold_no_mutants() -> None:
    text = "#if X\nint f() { return 4; }\n#else\nint f() { return 5; }\n#endif\n"
    assert [mutant.original for mutant in mutants_of(text, "k", {2}).mutants] == ["4"]


def test_a_mutant_of_several_lines_is_shown_in_one() -> None:
    [mutant] = mutants_of("int f(int a) {\n  return a + // ä\n      g(a);\n}", "k.hpp").mutants
    assert (mutant.mutated, mutant.line, mutant.last_line) == ("a - g(a)", 2, 3)
    assert mutant.name == "k.hpp:2:10 arithmetic: a + // ä g(a) -> a - g(a)"


def test_the_same_place_in_other_text_is_another_mutant() -> None:
    one, other = (mutants_of(f"int f(int a) {{ return a + a; }} // {word}", "k").mutants[0] for word in "xy")
    assert one.digest != other.digest


def test_without_tree_sitter_one_line_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "tree_sitter_cpp", None)
    operators.parser.cache_clear()
    try:
        with pytest.raises(UsageError, match=r"pip install 'bitgate\[mutate\]'"):
            mutants_of("int a;", "k.hpp")
    finally:
        operators.parser.cache_clear()
