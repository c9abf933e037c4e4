"""A task by gpu-mode's convention with results of two types: rows' largest numbers, and whether one is positive."""

import numpy as np


def ref_kernel(x):
    return x.max(-1), (x > 0).any(-1)


def generate_input(rows: int = 16, columns: int = 64, seed: int = 0):
    return np.random.default_rng(seed).standard_normal((rows, columns)).astype(np.float32)
