"""Types of kernels and their conversions, bit by bit: codes widen as ml_dtypes says, rounding is that of references."""

from __future__ import annotations

import subprocess
from ctypes import CDLL, c_char_p, c_int64, c_void_p
from pathlib import Path

import ml_dtypes
import numpy as np
import pytest

from bitgate.core import paths
from bitgate.kernel.build.flags import host_compile
from bitgate.kernel.build.toolchain import find_host_compiler
from bitgate.model import DTYPES, Dtype
from bitgate.numerics.rounding import largest, rounded, smallest

FLOAT8 = tuple(dtype.name for dtype in DTYPES.values() if dtype.is_float8)
NARROW = (*FLOAT8, "f16", "bf16")


@pytest.fixture(scope="module")
def conversions(tmp_path_factory):
    compiler = find_host_compiler()
    library = tmp_path_factory.mktemp("rounding") / "librounding.so"
    source = Path(__file__).parent / "number_rounding" / "rounding.cpp"
    headers = [paths.data_folder("kernels") / folder for folder in ("include", "platforms/host/include")]
    flags = [*host_compile(compiler.kind), *(f"-I{folder}" for folder in headers)]
    subprocess.run([*compiler.command, *flags, "-shared", str(source), "-o", str(library)], check=True)
    return CDLL(str(library))


def test_the_types_of_kernels_are_those_of_the_harness(conversions: CDLL) -> None:
    conversions.name_of.restype = c_char_p
    codes = range(conversions.count_dtypes())
    table = {conversions.name_of(code).decode(): (code, conversions.bytes_of(code)) for code in codes}
    assert table == {dtype.name: (dtype.code, dtype.bytes) for dtype in DTYPES.values()}
    multiplied = {dtype.name: conversions.element_bytes_of(dtype.code) for dtype in DTYPES.values()}
    assert multiplied == {name: 0 if name == "i32" else dtype.bytes for name, dtype in DTYPES.items()}


def convert(library, direction: str, dtype: Dtype, values: np.ndarray, into: np.dtype) -> np.ndarray:
    result = np.empty(values.shape, into)
    pointers = [array.ctypes.data_as(c_void_p) for array in (np.ascontiguousarray(values), result)]
    assert getattr(library, direction)(dtype.code, *pointers, c_int64(values.size))
    return result


def same(ours: np.ndarray, theirs: np.ndarray) -> np.ndarray:
    bits = np.dtype(f"u{ours.dtype.itemsize}")
    with np.errstate(invalid="ignore"):  # bf16 is asked by way of f32, where a signalling NaN becomes a quiet one
        return (ours.view(bits) == theirs.view(bits)) | (np.isnan(ours) & np.isnan(theirs))


@pytest.mark.parametrize("name", NARROW)
def test_every_code_widens_exactly_and_comes_back(conversions, name):
    dtype = DTYPES[name]
    codes = np.arange(2 ** (8 * dtype.bytes)).astype(dtype.bits).view(dtype.numpy)
    wide = convert(conversions, "widen", DTYPES[name], codes, np.dtype(np.float32))
    assert same(wide, codes.astype(np.float32)).all()
    assert same(convert(conversions, "narrow", DTYPES[name], wide, dtype.numpy), codes).all()


def ties_and_neighbours(name: str) -> np.ndarray:
    """Every number of the type, every middle of two neighbours and what lies just beside it, beyond the largest and
    below the smallest too."""
    dtype = DTYPES[name]
    with np.errstate(invalid="ignore"):
        values = np.arange(2 ** (8 * dtype.bytes)).astype(dtype.bits).view(dtype.numpy).astype(np.float64)
    known = np.unique(values[np.isfinite(values)])
    beyond = largest(dtype) * np.array([1.01, 1.0625, 1.125, 1.25, 2, 1e30 / largest(dtype)])
    points = np.concatenate([known, (known[1:] + known[:-1]) / 2, beyond, -beyond])
    with np.errstate(over="ignore"):
        points = points.astype(np.float32)
    around = [np.nextafter(points, np.float32(side)) for side in (-np.inf, np.inf)]
    endless = np.array([np.inf, -np.inf, np.nan, -np.nan, 1e-40, -1e-40, 0.0, -0.0], np.float32)
    return np.concatenate([points, *around, endless])


@pytest.mark.parametrize("name", NARROW)
def test_ties_and_their_neighbours_round_by_the_rule(conversions, name):
    points = ties_and_neighbours(name)
    with np.errstate(invalid="ignore"):
        expected = rounded(points, DTYPES[name])
    result = convert(conversions, "narrow", DTYPES[name], points, DTYPES[name].numpy)
    assert same(result, expected).all()


@pytest.mark.parametrize("name", FLOAT8)
def test_f32_patterns_round_by_the_rule(conversions, name):
    """One in 2048 of all f32, and every f16."""
    spread = np.arange(0, 2**32, 2048, dtype=np.uint64).astype(np.uint32).view(np.float32)
    halves = np.arange(2**16).astype(np.uint16).view(np.float16).astype(np.float32)
    for points in (spread, halves):
        with np.errstate(invalid="ignore"):
            expected = rounded(points, DTYPES[name])
        assert same(convert(conversions, "narrow", DTYPES[name], points, DTYPES[name].numpy), expected).all()


@pytest.mark.parametrize("name", FLOAT8)
def test_finite_numbers_saturate_and_nan_is_canonical(conversions, name):
    dtype = DTYPES[name]
    wide = np.array([1e9, -1e9, np.inf, -np.inf, -np.nan, -smallest(dtype) / 4], np.float32)
    codes = convert(conversions, "narrow", DTYPES[name], wide, dtype.bits).tolist()
    endless = np.array([np.inf, -np.inf], np.float32).astype(dtype.numpy)  # as ml_dtypes has them
    infinity = endless.view(dtype.bits).tolist() if np.isinf(endless).all() else [dtype.nan] * 2
    most = int(np.array(ml_dtypes.finfo(dtype.numpy).max).view(dtype.bits))
    zero = 0x00 if dtype.has_one_nan else 0x80
    assert codes == [most, most | 0x80, *infinity, dtype.nan, zero]
