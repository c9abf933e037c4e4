"""Submissions to the task linear in torch: right ones, and those that are not."""

# mypy: ignore-errors

import torch
from torch import nn

KEPT = {}


class Right(nn.Module):
    def __init__(self, features, hidden):
        super().__init__()
        self.linear = nn.Linear(features, hidden)

    def forward(self, x):
        y = self.linear(x)
        y = y * 0.5 * (1 + torch.erf(y * 0.7071067811865476))
        above = torch.exp(y - y.amax(-1, keepdim=True))
        return above / above.sum(-1, keepdim=True)


class TanhGelu(Right):
    """The usual approximation of GELU, which is none of rounding."""

    def forward(self, x):
        return torch.softmax(nn.functional.gelu(self.linear(x), approximate="tanh"), dim=-1)


class OtherSeed(Right):
    """Parameters drawn once more."""

    def __init__(self, features, hidden):
        super().__init__(features, hidden)
        self.linear.reset_parameters()


class InBf16(Right):
    def forward(self, x):
        return super().forward(x).bfloat16().float()


class Cached(Right):
    """The first result of each shape, again and again."""

    def forward(self, x):
        return KEPT.setdefault(x.shape, super().forward(x))


class FreedMemory(Right):
    """Whatever lies in memory that was freed."""

    def forward(self, x):
        return torch.empty(x.shape[0], 40)


class Lazy(torch.Tensor):
    """A tensor that computes when it is looked at."""

    @classmethod
    def __torch_function__(cls, function, types, arguments=(), more=None):
        plain = [one.source() if isinstance(one, Lazy) else one for one in arguments]
        return function(*plain, **(more or {}))


class ReturnsLazily(Right):
    def forward(self, x):
        lazy = torch.zeros(x.shape[0], 40).as_subclass(Lazy)
        lazy.source = lambda: super(ReturnsLazily, self).forward(x)
        return lazy
