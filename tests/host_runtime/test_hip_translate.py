"""Launches and dynamic arrays of a preprocessed HIP source become C++; everything else stays, on its line."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bitgate.kernel.build.hip_translate import translated

SHARED = '__attribute__((abi_tag("bitgate_lds"))) static thread_local'


def launched(name: str, shape: str, arguments: str = "") -> str:
    """One function, whose parameters are known."""
    return f'::bitgate_host::configured("{name}", [&] {{ return ({name}); }}, {shape})({arguments})'


def chosen(name: str, values: str, passed: str, arguments: str) -> str:
    """A function that the call chooses."""
    body = f"[]({values}) {{ {name}({passed}); }}"
    return f'::bitgate_host::deduced("{name}", {body}, dim3(1), dim3(2), (0), (nullptr))({arguments})'


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("k<<<g, b>>>();", launched("k", "dim3(g), dim3( b), (0), (nullptr)")),
        ("a::k <<<1, n, 4 * n>>> (x);", launched("a::k", "dim3(1), dim3( n), ( 4 * n), (nullptr)", "x")),
        (
            "k<float, 2><<<dim3(1, 2), 64, 0, s>>>(f(x, 1), y);",
            launched("k<float, 2>", "dim3(dim3(1, 2)), dim3( 64), ( 0), ( s)", "f(x, 1), y"),
        ),
        ("(k<T>)<<<g, b>>>(x);", launched("(k<T>)", "dim3(g), dim3( b), (0), (nullptr)", "x")),
        ("k<<<g, f<t<int>>>>>(x);", launched("k", "dim3(g), dim3( f<t<int>>), (0), (nullptr)", "x")),
        ("k<<<n >> 6, 64>>>(a >> b);", launched("k", "dim3(n >> 6), dim3( 64), (0), (nullptr)", "a >> b")),
        ("hipLaunchKernel((const void*)k, g, b, a);", "hipLaunchKernel(k, g, b, a);"),
        ("hipLaunchCooperativeKernel((void *) k, g);", "hipLaunchCooperativeKernel( k, g);"),
        ("hipLaunchKernel(reinterpret_cast<void*>(k), g);", "hipLaunchKernel((k), g);"),
        (f"static {SHARED} T sums[64];", f" {SHARED} T sums[64];"),
        (f"{SHARED}\nstatic float sum;", f"{SHARED}\n float sum;"),
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


TEMPLATE = "template <class T, int N = 4> static void k(T* x, int n) {}"
OVERLOADS = "void k(int* x); void k(float* x);"
TWICE = "void k(int* x, T<a, 2> t); inline void k(int* y, T<a, 2> u) {}"
ANY = "auto... bitgate_values", "bitgate_values..."


@pytest.mark.parametrize(
    ("declared", "launch", "expected"),
    [
        (TEMPLATE, "k<<<1,2>>>(x, n)", chosen("k", *ANY, "x, n")),
        (TEMPLATE, "k<int><<<1,2>>>(x, n)", chosen("k<int>", *ANY, "x, n")),
        (TEMPLATE, "k<int, 8><<<1,2>>>(x, n)", launched("k<int, 8>", "dim3(1), dim3(2), (0), (nullptr)", "x, n")),
        (TEMPLATE, "k<<<1,2>>>(x, 4)", chosen("k", "auto bitgate_0", "bitgate_0, 4", "x")),
        (TEMPLATE, "k<int><<<1,2>>>(__null, {1, 2.f})", chosen("k<int>", "", "__null, {1, 2.f}", "")),
        ("template <class... T> void k(T... t);", "k<int><<<1,2>>>(x)", chosen("k<int>", *ANY, "x")),
        ("void k(int a, int b = 3);", "k<<<1,2>>>(x)", chosen("k", *ANY, "x")),
        (OVERLOADS, "k<<<1,2>>>(x)", chosen("k", *ANY, "x")),
        (TWICE, "k<<<1,2>>>(x, {y})", launched("k", "dim3(1), dim3(2), (0), (nullptr)", "x, {y}")),
        ("template <class T> void k(T t);", "((k<int>))<<<1,2>>>(x)", None),
    ],
)
def test_declarations_say_whether_the_call_chooses(declared: str, launch: str, expected: str | None) -> None:
    found = translated(f"{declared}\nvoid f() {{ {launch}; }}\n")
    if expected is None:
        assert found.splitlines()[1].startswith("void f() { ::bitgate_host::configured(")
    else:
        assert found.splitlines()[1] == f"void f() {{ {expected}; }}"


def test_functions_of_both_sides_stay_under_two_names() -> None:
    source = (
        "__bitgate_device__ int f(int x) { return x; }\n__bitgate_host__ int f(int y) { return g(y); }\n"
        "__bitgate_host__ __bitgate_device__ int g(int x);\n__bitgate_device__ int alone(int x) { return x; }\n"
    )
    lines = translated(source).splitlines()
    assert lines[0].strip() == "int f_bitgate_device(int x) { return x; }"
    assert "int f_bitgate_device(int y);" in lines[1]
    assert "int f(int y) { if (::bitgate_host::self) return f_bitgate_device(y); return g(y); }" in lines[1]
    assert [line.strip() for line in lines[2:]] == ["int g(int x);", "int alone(int x) { return x; }"]


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
