"""A wrong submission in Triton: the tail of a row is read as zeros."""

# mypy: ignore-errors

import torch
import triton
import triton.language as tl


@triton.jit
def rows(x, y, x_row, y_row, columns, BLOCK: tl.constexpr):
    row, column = tl.program_id(0), tl.arange(0, BLOCK)
    cells = tl.load(x + row * x_row + column, mask=column < columns, other=0.0)
    above = tl.exp(cells - tl.max(cells, axis=0))
    tl.store(y + row * y_row + column, above / tl.sum(above, axis=0), mask=column < columns)


def custom_kernel(x):
    y = torch.empty(x.shape, dtype=x.dtype, device=x.device)
    if x.numel():
        block = triton.next_power_of_2(x.shape[1])
        rows[(x.shape[0],)](x, y, x.stride(0), y.stride(0), x.shape[1], BLOCK=block)
    return y
