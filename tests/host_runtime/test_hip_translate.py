"""Launches and dynamic arrays of a preprocessed HIP source become C++; everything else stays, on its line."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bitgate.kernel.build.hip_translate import translated

SHARED = '__attribute__((abi_tag("bitgate_lds"))) static thread_local'


def launched(name: str, kernel: str, *rest: str) -> str:
    return f'(void)::bitgate_host::launchNamed("{name}", [&] {{ return ({kernel}); }}, {", ".join(rest)})'


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("k<<<g, b>>>();", launched("k", "k", "dim3(g)", "dim3( b)", "(0)", "(nullptr)")),
        ("a::k <<<1, n, 4 * n>>> (x);", launched("a::k", "a::k", "dim3(1)", "dim3( n)", "( 4 * n)", "(nullptr)", "x")),
        (
            "k<float, 2><<<dim3(1, 2), 64, 0, s>>>(f(x, 1), y);",
            launched("k<float, 2>", "k<float, 2>", "dim3(dim3(1, 2))", "dim3( 64)", "( 0)", "( s)", "f(x, 1), y"),
        ),
        ("(k<T>)<<<g, b>>>(x);", launched("(k<T>)", "(k<T>)", "dim3(g)", "dim3( b)", "(0)", "(nullptr)", "x")),
        ("k<<<g, f<t<int>>>>>(x);", launched("k", "k", "dim3(g)", "dim3( f<t<int>>)", "(0)", "(nullptr)", "x")),
        ("k<<<n >> 6, 64>>>(a >> b);", launched("k", "k", "dim3(n >> 6)", "dim3( 64)", "(0)", "(nullptr)", "a >> b")),
        (f"extern {SHARED} float tile[];", "float* tile = static_cast<float*>(__bitgate_dynamic_lds());"),
        (f"{SHARED} extern T<a, 4> v [ ];", "T<a, 4>* v = static_cast<T<a, 4>*>(__bitgate_dynamic_lds());"),
        (
            f"extern {SHARED} __attribute__((aligned(16))) char raw[];",
            "char* raw = static_cast<char*>(__bitgate_dynamic_lds());",
        ),
    ],
)
def test_each_becomes_a_call(source: str, expected: str) -> None:
    assert translated(f"if (x) {source}\n") == f"if (x) {expected.removesuffix(';')};\n"


@pytest.mark.parametrize(
    "source",
    [
        'puts("k<<<g, b>>>(x);");',
        'puts(R"(k<<<g, b>>>(x);)");',
        "std::ostream& operator<<<char>(std::ostream&);",
        "#pragma k<<<g, b>>>(x)",
        "k<<<g>>>(x);",
        "k<<<g, b>>>;",
        "x <<< y;",
        f"{SHARED} float tile[64];",
        "extern float table[];",
    ],
)
def test_what_is_none_is_left_alone(source: str) -> None:
    assert translated(source) == source


def test_a_template_without_arguments_is_launched_by_a_call() -> None:
    found = translated(
        "template <class T, int N = 4> void k(T* x, int n) {}\nvoid f() { k<<<1, 2>>>(x, n); k<int><<<1, 2>>>(x, n); }"
    )
    deduced, _, named = found.partition("}(x, n); ")
    assert "[](auto... bitgate_values) { k(bitgate_values...); }" in deduced
    assert launched("k<int>", "k<int>", "dim3(1)", "dim3( 2)", "(0)", "(nullptr)", "x, n") in named


def test_lines_and_markers_stay_where_they_are() -> None:
    source = 'first;\nk<<<1,\n# 7 "a.hip" 3 4\n   __null\n# 7 "a.hip"\n   >>>(x,\n  y);\nlast;\nq<<<1, 2>>>(z);\n'
    found = translated(source)
    assert found.count("\n") == source.count("\n")
    assert '\n# 7 "a.hip" 3 4\n' in found
    assert found.splitlines().index("last;") == source.splitlines().index("last;")
    assert "<<<" not in found


@given(st.text(alphabet="k<>(),;[]{}\"'#\\\n ab:", max_size=60))
def test_any_text_comes_through_with_its_lines(text: str) -> None:
    assert translated(text).count("\n") == text.count("\n")
