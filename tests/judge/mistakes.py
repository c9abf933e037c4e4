"""Kernels in numpy with the errors that transcriptions of kernels have, next to right ones of the same tasks."""

import numpy as np


def softmax_right(x):
    above = np.exp(x - x.max(axis=-1, keepdims=True))
    return above / above.sum(axis=-1, keepdims=True)


def softmax_online(x):
    """Right: maximum and sum in one pass over blocks, the last one short."""
    most, total = np.full(x.shape[:-1], -np.inf, x.dtype), np.zeros(x.shape[:-1], x.dtype)
    for begin in range(0, x.shape[-1], 32):
        block = x[..., begin : begin + 32]
        new = np.maximum(most, block.max(-1))
        total = total * np.exp(most - new) + np.exp(block - new[..., None]).sum(-1)
        most = new
    return np.exp(x - most[..., None]) / total[..., None]


def softmax_without_maximum(x):
    above = np.exp(x)
    return above / above.sum(axis=-1, keepdims=True)


def softmax_without_tail_mask(x):
    padded = np.zeros((*x.shape[:-1], -(-x.shape[-1] // 32) * 32), x.dtype)
    padded[..., : x.shape[-1]] = x
    return softmax_right(padded)[..., : x.shape[-1]].copy()


def softmax_of_packed_rows(x):
    """Wrong for rows that do not follow each other in memory."""
    return softmax_right(np.lib.stride_tricks.as_strided(x, x.shape, (4 * x.shape[1], 4)))


def softmax_f16_sum(x):
    above = np.exp(x - x.max(axis=-1, keepdims=True))
    return above / above.astype(np.float16).sum(axis=-1, keepdims=True, dtype=np.float16).astype(np.float32)


def matmul_right(data):
    a, b, c = data
    c[...] = (a.astype(np.float32) @ b.astype(np.float32)).astype(np.float16)
    return c


def matmul_in_slices(data):
    """Right: returns its result, summed in slices of 64."""
    a, b, _ = data
    total = np.zeros((a.shape[0], b.shape[1]), np.float32)
    for begin in range(0, a.shape[1], 64):
        total += a[:, begin : begin + 64].astype(np.float32) @ b[begin : begin + 64].astype(np.float32)
    return total.astype(np.float16)


def matmul_f16_sums(data):
    a, b, c = data
    total = np.zeros(c.shape, np.float16)
    for k in range(a.shape[1]):
        total += a[:, k, None] * b[k]
    return total


def matmul_without_last_slice(data):
    a, b, c = data
    whole = a.shape[1] // 64 * 64
    c[...] = a[:, :whole].astype(np.float32) @ b[:whole].astype(np.float32)
    return c


def norm_right(x, weight, bias, eps=1e-5):
    mean = x.mean(-1, keepdims=True)
    centred = x - mean
    return centred / np.sqrt((centred * centred).mean(-1, keepdims=True) + np.float32(eps)) * weight + bias


def norm_eps_outside_root(x, weight, bias, eps=1e-5):
    centred = x - x.mean(-1, keepdims=True)
    return centred / (np.sqrt((centred * centred).mean(-1, keepdims=True)) + np.float32(eps)) * weight + bias


def norm_divides_by_less(x, weight, bias, eps=1e-5):
    centred = x - x.mean(-1, keepdims=True)
    variance = (centred * centred).sum(-1, keepdims=True) / np.float32(max(1, x.shape[-1] - 1))
    return centred / np.sqrt(variance + np.float32(eps)) * weight + bias


def attention(q, k, v, offset):
    scores = q @ np.swapaxes(k, -1, -2) / np.sqrt(np.float32(q.shape[-1]))
    scores = np.where(np.tri(q.shape[-2], k.shape[-2], offset, dtype=bool), scores, np.float32(-1e30))
    above = np.exp(scores - scores.max(-1, keepdims=True))
    return above / above.sum(-1, keepdims=True) @ v


def causal_right(q, k, v):
    return attention(q, k, v, 0)


def causal_one_too_many(q, k, v):
    return attention(q, k, v, 1)


def causal_unscaled(q, k, v):
    return attention(q * np.sqrt(np.float32(q.shape[-1])), k, v, 0)
