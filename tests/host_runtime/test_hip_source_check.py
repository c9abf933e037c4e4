"""What g++ cannot take of HIP is found before it is compiled, with the line to write instead."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bitgate.kernel.build.hip_source_check import unsupported_on_host


@pytest.mark.parametrize(
    ("source", "instead"),
    [
        ("extern __shared__ float tile[];", "HIP_DYNAMIC_SHARED(float, tile)"),
        ("  extern   __shared__\n  unsigned char raw [ ] ;", "HIP_DYNAMIC_SHARED(unsigned char, raw)"),
        ("extern __shared__ __align__(16) double2 v[];", "HIP_DYNAMIC_SHARED(double2, v)"),
        ("extern __shared__ Tile<float, 4> v[];", "HIP_DYNAMIC_SHARED(Tile<float, 4>, v)"),
        ("scale<<<grid, 256>>>(x, n);", "hipLaunchKernelGGL(scale, grid, 256, 0, nullptr, x, n);"),
        ("scale <<< dim3(1, 2), b, lds >>> ();", "hipLaunchKernelGGL(scale, dim3(1, 2), b, lds, nullptr);"),
        ("k<float><<<g, b, 0, stream>>>(f(x, 1), y);", "hipLaunchKernelGGL(k<float>, g, b, 0, stream, f(x, 1), y);"),
        ("k<float, 4><<<g, b>>>(x);", "hipLaunchKernelGGL(HIP_KERNEL_NAME(k<float,4>), g, b, 0, nullptr, x);"),
        ("RUN(k) <<<", "hipLaunchKernelGGL(kernel, grid, block"),
        ("__shared__ extern int x[];", "HIP_DYNAMIC_SHARED(type, name)"),
    ],
)
def test_each_construct_is_named_with_what_to_write(source: str, instead: str) -> None:
    [(line, message)] = unsupported_on_host("// first line\n" + source)
    assert line == 2
    assert f"write {instead}" in message


@pytest.mark.parametrize(
    "source",
    [
        "// scale<<<grid, block>>>(x);",
        "/* extern __shared__ float x[];\n */ int y;",
        'const char* help = "scale<<<g, b>>>(x)";',
        'const char* raw = R"(extern __shared__ float x[];)";',
        "__shared__ float tile[64];",
        "extern float table[];",
        "int x = a << b >> c; std::vector<std::vector<int>> v;",
        "int million = 1'000'000; k(million);",
        "HIP_DYNAMIC_SHARED(float, tile)\nhipLaunchKernelGGL(k, g, b, 0, nullptr, x);",
    ],
)
def test_ordinary_code_passes(source: str) -> None:
    assert unsupported_on_host(source) == []


def test_lines_come_in_order() -> None:
    source = "a<<<1, 2>>>(x);\n\nextern __shared__ int y[];\nb<<<1, 2>>>(x);\n"
    assert [line for line, _ in unsupported_on_host(source)] == [1, 3, 4]


def test_the_runtimes_own_test_kernels_pass() -> None:
    sources = sorted((Path(__file__).parent / "kernels").glob("*.cpp"))
    assert sources
    for source in sources:
        assert unsupported_on_host(source.read_text()) == []


@given(st.text(alphabet="ab<>()[],;\"'/*\n_x ", max_size=80))
def test_any_text_is_answered_with_lines_that_exist(source: str) -> None:
    for line, message in unsupported_on_host(source):
        assert 1 <= line <= source.count("\n") + 1
        assert "instead" in message
