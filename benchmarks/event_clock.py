"""Device events beside the wall: one loop of launches, timed by both.

    python benchmarks/event_clock.py CASE --kernel GLOB [--target T] [--launches N]

The wall has a launch's way to the device and back in it once, so the longer the loop, the nearer the two have to be;
and the calling thread's time a launch, which has to be below the device's if the device is to be what is measured.
On the host both are steady clocks.
"""

from __future__ import annotations

import argparse
from time import perf_counter

from bitgate.kernel.runner import LibraryRunner
from bitgate.model import parse_case_id
from bitgate.numerics.fill import plan_fill
from bitgate.runtime.targets import best
from bitgate.tools.bench.buffer_set import BufferSet
from bitgate.tools.bench.launches import Clock
from bitgate.verify.on_device import DeviceData
from bitgate.verify.selection import candidates, select_for
from bitgate.verify.session import Session


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("case")
    parser.add_argument("--kernel", required=True, help="the first instance that it matches, of a library")
    parser.add_argument("--target", default="", help="default: the best one present")
    parser.add_argument("--launches", type=int, nargs="+", default=[1, 10, 100, 1000])
    arguments = parser.parse_args()
    target = arguments.target or best().name
    session, problem = Session(target), parse_case_id(arguments.case)
    kernel = select_for(problem, candidates(arguments.kernel, {}, target)).supporting[0]
    runner = session.opened.runner(kernel)
    if not isinstance(runner, LibraryRunner):
        parser.error(f"{kernel.name} is of no library")
    plan = plan_fill(problem, kernel.instance.accumulation_for(problem))
    held = BufferSet(session.opened.device, session.opened.tools, problem, DeviceData(plan))
    sets, clock = [held.arguments(runner.workspace(problem))], Clock(session.opened.device)
    clock.of_calls(runner, problem, sets, 10)
    print(f"{kernel.name} on {target}, {clock.name}; us a launch")
    for launches in arguments.launches:
        begun = perf_counter()
        taken = clock.of_calls(runner, problem, sets, launches)
        wall = (perf_counter() - begun) / launches
        print(
            f"{launches:6} launches: {1e6 * taken.seconds:9.2f} by events, {1e6 * wall:9.2f} by the wall"
            f" ({wall / taken.seconds - 1:+.2%}), {1e6 * taken.host_seconds:.2f} of the calling thread"
        )
    held.free()
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
