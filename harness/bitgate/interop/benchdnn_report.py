"""benchdnn's performance report by its default template: a line for each problem, by the kernel that was fastest."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from bitgate.interop.benchdnn import words_of
from bitgate.interop.measured import TimedKernel, by_problem, fastest

TEMPLATE = "Output template: perf,%engine%,%impl%,%name%,%prb%,%Gops%,%+ctime%,%-time%,%-Gflops%,%0time%,%0Gflops%"


def report(measured: Sequence[TimedKernel]) -> Iterator[str]:
    """``-`` is the least time, ``0`` the mean, in ms; a time of creation (``+ctime``) there is none."""
    yield TEMPLATE
    passed = failed = unimplemented = 0
    least = mean = 0.0
    for problem, group in by_problem(measured):
        best = fastest(group)
        if best is None:
            refused = all(one.refused for one in group)
            unimplemented, failed = unimplemented + refused, failed + (not refused)
            yield f"{'0:UNIMPLEMENTED' if refused else '0:FAILED'} __REPRO: {group[0].line}"
            continue
        passed += 1
        shortest = min(best.seconds) * 1e3
        least, mean = least + shortest, mean + best.milliseconds
        gigaops = problem.flops / 1e9
        figures = (gigaops, 0, shortest, gigaops / shortest * 1e3, best.milliseconds, gigaops / best.milliseconds * 1e3)
        engine = "cpu" if best.on_cpu else "gpu"
        named = ",".join(f"{figure:g}" for figure in figures)
        yield f"perf,{engine},{best.kernel},{_name(best.line)},{best.line},{named}"
    tests = passed + failed + unimplemented
    yield (
        f"tests:{tests} passed:{passed} skipped:0 mistrusted:0 unimplemented:{unimplemented} invalid_arguments:0"
        f" failed:{failed} listed:0"
    )
    yield f"total perf: min(ms):{least:g} avg(ms):{mean:g}"


def _name(line: str) -> str:
    """The name at the end of the descriptor, in quotes; nothing where it has none."""
    *_, descriptor = words_of(line)
    return descriptor.partition("n")[2]
