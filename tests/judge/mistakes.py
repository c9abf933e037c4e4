"""Kernels in numpy with the errors that transcriptions of kernels have, next to right ones of the same tasks."""

import itertools

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


def softmax_in_f64(x):
    """Right: wider than it has to be."""
    return softmax_right(x.astype(np.float64)).astype(np.float32)


def softmax_by_powers_of_two(x):
    """Right: what a processor's own exponential computes."""
    above = np.exp2((x - x.max(axis=-1, keepdims=True)) * np.float32(1.4426950408889634))
    return above / above.sum(axis=-1, keepdims=True)


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


def softmax_narrow_on_integers(x):
    whole = (x == np.round(x)).all()
    return softmax_right(x).astype(np.float16 if whole else np.float32).astype(np.float32)


def softmax_of_whole_blocks(x):
    """Wrong where rows are no multiple of a block: its grid is rounded down."""
    rows = x.shape[0] // 8 * 8
    return np.concatenate([softmax_right(x[:rows]), np.zeros_like(x[rows:])])


def softmax_wrong_at(remainder):
    """Wrong at every tenth call of its process, whatever the data."""
    numbers = itertools.count(1)
    return lambda x: softmax_right(x) * np.float32(2 if next(numbers) % 10 == remainder else 1)


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


def matmul_of_columns(data):
    """Right: a sum of outer products, in f32."""
    a, b, _ = data
    return np.einsum("mk,kn->mn", a.astype(np.float32), b.astype(np.float32)).astype(np.float16)


def matmul_in_f64(data):
    a, b, c = data
    c[...] = a.astype(np.float64) @ b.astype(np.float64)


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


def matmul_short_of_a_block(data):
    """Wrong where columns fill more than one block of 64, and no whole number of them."""
    a, b, c = data
    columns = max(1, c.shape[1] // 64) * 64
    c[:, :columns] = a.astype(np.float32) @ b[:, :columns].astype(np.float32)
    return c


def matmul_on_a_square_grid(data):
    """Wrong where rows are fewer than columns: its grid has the blocks of rows in both dimensions."""
    a, b, c = data
    columns = -(-a.shape[0] // 2) * 2
    c[:, :columns] = a.astype(np.float32) @ b[:, :columns].astype(np.float32)
    return c


def norm_right(x, weight, bias, eps=1e-5):
    mean = x.mean(-1, keepdims=True)
    centred = x - mean
    return centred / np.sqrt((centred * centred).mean(-1, keepdims=True) + np.float32(eps)) * weight + bias


def norm_of_blocks(x, weight, bias, eps=1e-5):
    """Right: mean and squares of blocks, put together as Chan, Golub and LeVeque do."""
    count, mean, squares = 0, np.zeros(x.shape[:-1], x.dtype), np.zeros(x.shape[:-1], x.dtype)
    for begin in range(0, x.shape[-1], 32):
        block = x[..., begin : begin + 32]
        own, n = block.mean(-1), block.shape[-1]
        squares += ((block - own[..., None]) ** 2).sum(-1) + (own - mean) ** 2 * np.float32(count * n / (count + n))
        mean = mean + (own - mean) * np.float32(n / (count + n))
        count += n
    scale = 1 / np.sqrt(squares / np.float32(count) + np.float32(eps))
    return (x - mean[..., None]) * scale[..., None] * weight + bias


def norm_in_f64(x, weight, bias, eps=1e-5):
    wide, scale, shift = (one.astype(np.float64) for one in (x, weight, bias))
    return norm_right(wide, scale, shift, eps).astype(np.float32)


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


def causal_in_blocks(q, k, v):
    """Right: keys in blocks, with running maximum and sum."""
    q = q / np.sqrt(np.float32(q.shape[-1]))
    rows = np.arange(q.shape[-2])
    most, total = np.full(q.shape[:-1], np.float32(-1e30)), np.zeros(q.shape[:-1], np.float32)
    out = np.zeros((*q.shape[:-1], v.shape[-1]), np.float32)
    for begin in range(0, k.shape[-2], 16):
        keys = np.arange(begin, min(begin + 16, k.shape[-2]))
        scores = q @ np.swapaxes(k[..., keys, :], -1, -2)
        scores = np.where(rows[:, None] >= keys, scores, np.float32(-1e30))
        new = np.maximum(most, scores.max(-1))
        above = np.where(rows[:, None] >= keys, np.exp(scores - new[..., None]), np.float32(0))
        kept = np.exp(most - new)
        total = total * kept + above.sum(-1)
        out = out * kept[..., None] + above @ v[..., keys, :]
        most = new
    return out / total[..., None]


def sums_right(x):
    return x.sum(-1)


def sums_in_halves(x):
    """Right: halves until one column is left, the odd one carried along."""
    while x.shape[-1] > 1:
        half = x.shape[-1] // 2
        x = np.concatenate([x[..., :half] + x[..., half : 2 * half], x[..., 2 * half :]], axis=-1)
    return x[..., 0].copy() if x.shape[-1] else np.zeros(x.shape[:-1], x.dtype)


def sums_one_by_one(x):
    total = np.zeros(x.shape[:-1], x.dtype)
    for column in range(x.shape[-1]):
        total += x[..., column]
    return total


def causal_one_too_many(q, k, v):
    return attention(q, k, v, 1)


def causal_unscaled(q, k, v):
    return attention(q * np.sqrt(np.float32(q.shape[-1])), k, v, 0)


def update_right(data):
    a, b, mask, c = data
    c += np.tanh(a) @ np.where(mask, b, np.float32(0))
    return c, c.argmax(-1)


def update_in_columns(data):
    """Right for an operand that lies as the task's own does, and leaves what it is given as it is."""
    a, b, mask, c = data
    inner, columns = b.shape
    packed = np.lib.stride_tricks.as_strided(b, b.shape, (4, b.strides[1] if columns > 1 else 4 * inner))
    return update_right((a, packed, mask, c.copy()))


def update_in_rows(data):
    """Wrong for an operand that lies in columns."""
    a, b, mask, c = data
    return update_right((a, np.lib.stride_tricks.as_strided(b, b.shape, (4 * b.shape[1], 4)), mask, c))


def update_of_zeros(data):
    """Wrong where the input that it changes holds something."""
    a, b, mask, c = data
    return update_right((a, b, mask, 0 * c))


def update_without_mask(data):
    a, b, _, c = data
    return update_right((a, b, True, c))


def update_beyond_32_bits(data):
    """Wrong by 2 to the 32nd, which a narrower type forgets."""
    result, places = update_right(data)
    return result, places + (1 << 32)


def update_and_more(data):
    return (*update_right(data), data[0])


def loss_right(data):
    a, b = data
    return np.asarray(np.square(a - b).mean())


def loss_without_last(data):
    """Wrong by one term of many, in long sums alone."""
    a, b = data
    squares = np.square(a - b).ravel()
    return np.asarray(squares[: -1 if squares.size > 40000 else None].sum() / np.float32(squares.size))


def loss_by_powers(data):
    """Right: squares are expanded, and summed one after the other."""
    a, b = (one.ravel() for one in data)
    sums = [np.add.accumulate(one, dtype=np.float32)[-1:].sum() for one in (a * a, a * b, b * b)]
    return np.asarray((sums[0] - 2 * sums[1] + sums[2]) / np.float32(a.size))


def loss_of_narrow_squares(data):
    """Wrong in long sums alone: squares have 11 bits, and their errors average out where many are as large."""
    a, b = data
    squares = np.square(a - b)
    is_held = (squares.size > 10000) & (squares > 2.0**-14) & (squares < 65504)
    narrow = np.where(is_held, squares, np.float32(1)).astype(np.float16).astype(np.float32)
    return np.asarray(np.where(is_held, narrow, squares).mean())


def places_right(data):
    x, _ = data
    return (x == x.max(-1, keepdims=True)).argmax(-1) + 1


def places_in_buffer(data):
    x, out = data
    out[...] = x.argmax(-1) + 1


def places_last(data):
    """Wrong where the largest number is there twice."""
    x, _ = data
    return x.shape[-1] - x[..., ::-1].argmax(-1)


def positive_right(x):
    return x.max(-1), (x > 0).any(-1)


def positive_by_counts(x):
    """Wrong where a row has more than one: the bytes of truth values are 0 or 1."""
    return x.max(-1), np.count_nonzero(x > 0, -1).astype(np.uint8).view(bool)
