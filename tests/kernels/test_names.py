"""No namespace of a kernel is a function that every compiler of a GPU declares before the first line of a source."""

from __future__ import annotations

import re

import pytest

from bitgate.core.paths import data_folder
from bitgate.kernel.registry import families

# Global functions of CUDA's and ROCm's device libraries that a host compiler has none of, and those of C.
TEXT = """
norm norm3d norm4d normf rnorm rnorm3d rnorm4d rhypot rcbrt rsqrt sinpi cospi sincos sincospi erfcx erfinv erfcinv
normcdf normcdfinv cyl_bessel_i0 cyl_bessel_i1 clock clock64 saturate mad24 mul24 atomicAdd atomicMax atomicMin
min max abs fma exp exp2 exp10 log log2 log10 pow sqrt cbrt hypot sin cos tan tanh erf floor ceil round rint trunc
fdim fmod gamma lgamma tgamma j0 j1 jn y0 y1 yn scalbn logb ilogb remainder signbit isnan isinf
"""
DEVICE_FUNCTIONS = frozenset(TEXT.split())
NAMESPACE = re.compile(r"^\s*(?:inline )?namespace (\w+)", re.MULTILINE)


@pytest.mark.parametrize("family", sorted(families()))
def test_no_namespace_is_a_device_function(family):
    sources = [*families()[family].folder.glob("*.[ch]pp"), *(data_folder("kernels") / "include").rglob("*.h*")]
    texts = [*(path.read_text() for path in sources), *families()[family].generated.values()]
    names = {name for text in texts for name in NAMESPACE.findall(text)}
    assert not names & DEVICE_FUNCTIONS
