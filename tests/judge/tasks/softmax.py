"""A task by gpu-mode's convention: softmax along the last axis."""

import numpy as np


def ref_kernel(x):
    above = np.exp(x - x.max(axis=-1, keepdims=True))
    return above / above.sum(axis=-1, keepdims=True)


def generate_input(rows: int = 24, columns: int = 96, seed: int = 0):
    return np.random.default_rng(seed).standard_normal((rows, columns)).astype(np.float32)
