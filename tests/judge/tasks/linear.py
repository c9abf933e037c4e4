"""A task by KernelBench's convention in torch: a linear layer with its parameters, GELU, and a softmax."""

# mypy: ignore-errors

import torch
from torch import nn


class Model(nn.Module):
    def __init__(self, features, hidden):
        super().__init__()
        self.linear = nn.Linear(features, hidden)

    def forward(self, x):
        return torch.softmax(nn.functional.gelu(self.linear(x)), dim=-1)


def get_inputs():
    return [torch.rand(24, 96)]


def get_init_inputs():
    return [96, 40]
