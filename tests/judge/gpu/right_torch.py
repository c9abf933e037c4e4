"""A right submission: torch's own operations, in the caller's stream."""

# mypy: ignore-errors

import torch


def custom_kernel(x):
    above = torch.exp(x - x.amax(-1, keepdim=True)) if x.shape[-1] else x.clone()
    return above / above.sum(-1, keepdim=True)
