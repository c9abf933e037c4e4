"""A task by KernelBench's convention: layer_norm along the last axis."""

import numpy as np


class Model:
    def __init__(self, eps):
        self.eps = eps

    def __call__(self, x, weight, bias):
        mean, variance = x.mean(-1, keepdims=True), x.var(-1, keepdims=True)
        return (x - mean) / np.sqrt(variance + x.dtype.type(self.eps)) * weight + bias


def get_inputs():
    rng = np.random.default_rng(0)
    return [rng.standard_normal(shape).astype(np.float32) for shape in ((16, 128), (128,), (128,))]


def get_init_inputs():
    return [1e-5]
