"""A task by gpu-mode's convention whose results are integers alone: where each row is largest, counted from 1."""

import numpy as np


def ref_kernel(data):
    x, out = data
    out[...] = x.argmax(-1) + 1
    return out


def generate_input(rows: int = 16, columns: int = 64, seed: int = 0):
    x = np.random.default_rng(seed).standard_normal((rows, columns)).astype(np.float32)
    return x, np.zeros(rows, np.int64)
