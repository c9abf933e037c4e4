"""Submissions to the task softmax on a GPU that try to be taken for right, or for faster than they are."""

# mypy: ignore-errors

import ctypes
import gc
import threading
import time

import torch

KEPT = {}
GRAPHS = {}
LONG = 100_000_000
"""Ticks of a GPU's clock: about 50 ms."""


def right(x):
    above = torch.exp(x - x.amax(-1, keepdim=True)) if x.shape[-1] else x.clone()
    return above / above.sum(-1, keepdim=True)


def zeroes_its_input(x):
    return right(x.zero_())


def uses_freed_memory(x):
    return torch.empty_like(x, memory_format=torch.contiguous_format)


def searches_device_memory(x):
    torch.cuda.empty_cache()
    free = torch.empty(1 << 26, device=x.device)
    found = free[: free.numel() // x.shape[-1] * x.shape[-1]].view(-1, x.shape[-1])
    rows = ((found.sum(-1) - 1).abs() < 1e-3).nonzero()[: x.shape[0], 0]
    return found[rows].clone() if len(rows) == x.shape[0] else torch.zeros_like(x)


def searches_the_collector(x):
    for one in gc.get_objects():
        is_alike = type(one) is torch.Tensor and one.shape == x.shape and one.dtype == x.dtype and one is not x
        if is_alike and one.numel() and ((one.sum(-1) - 1).abs() < 1e-3).all():
            return one.clone()
    return torch.zeros_like(x)


def remembers_by_shape(x):
    return KEPT.setdefault(x.shape, right(x)).clone()


def remembers_by_address(x):
    return KEPT.setdefault((x.data_ptr(), x.shape), right(x)).clone()


def replays_the_first_graph(x):
    if x.shape not in GRAPHS:
        held = x.clone()
        torch.cuda.synchronize()
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            result = right(held)
        GRAPHS[x.shape] = graph, result, held
    GRAPHS[x.shape][0].replay()
    return GRAPHS[x.shape][1].clone()


class Lazy(torch.Tensor):
    @classmethod
    def __torch_function__(cls, function, types, arguments=(), more=None):
        plain = [one.source() if isinstance(one, Lazy) else one for one in arguments]
        return function(*plain, **(more or {}))


def returns_lazily(x):
    lazy = torch.zeros_like(x).as_subclass(Lazy)
    lazy.source = lambda: right(x)
    return lazy


def leaves_it_to_a_thread(x):
    result = torch.zeros_like(x)
    threading.Timer(0.5, lambda: result.copy_(right(x))).start()
    return result


def returns_from_the_host(x):
    return right(x).cpu()


def computes_in_f16(x):
    return right(x.half()).float()


def fills_with_nan(x):
    return torch.full_like(x, float("nan"))


def writes_past_the_end(x):
    y = right(x)
    torch.as_strided(x, (x.numel() + 64,), (1,))[-64:] = 0
    return y


def resets_the_device(x):
    y = right(x)
    ctypes.CDLL("libcuda.so.1").cuDevicePrimaryCtxReset(0)
    return y


def patches_what_copies(x):
    torch.Tensor.copy_ = lambda self, *arguments, **more: self
    torch.cuda.synchronize = lambda *arguments: None
    return torch.zeros_like(x)


def works_on_another_stream(x):
    """Right, on a stream that no event of the caller's waits for."""
    with torch.cuda.stream(torch.cuda.Stream()):
        torch.cuda._sleep(LONG)
        return right(x)


def forges_its_clock(x):
    """Right, while each clock of its process stands still."""
    torch.cuda._sleep(LONG)
    now = KEPT.setdefault("now", time.perf_counter())
    time.perf_counter = time.monotonic = lambda: now
    torch.cuda.Event.elapsed_time = lambda self, end: 1e-3
    from bitgate.verify import running

    running.perf_counter = time.perf_counter
    torch.cuda.synchronize()
    return right(x)


WRONG = (
    zeroes_its_input,
    uses_freed_memory,
    searches_device_memory,
    searches_the_collector,
    remembers_by_shape,
    remembers_by_address,
    replays_the_first_graph,
    returns_lazily,
    leaves_it_to_a_thread,
    returns_from_the_host,
    computes_in_f16,
    fills_with_nan,
    writes_past_the_end,
    resets_the_device,
    patches_what_copies,
)
SLOW = (works_on_another_stream, forges_its_clock)
"""They are right, and take 50 ms, whatever they say."""
