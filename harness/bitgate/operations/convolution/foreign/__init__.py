"""Other harnesses' command lines of convolutions."""

from collections.abc import Mapping

from bitgate.operation.foreign.program import Driver, Program
from bitgate.operations.convolution.foreign import (
    benchdnn,
    ck_example,
    ck_profiler,
    ck_profiler_report,
    miopen_driver,
    miopen_report,
)
from bitgate.operations.convolution.foreign.ck_profiler import ck_profiler_line
from bitgate.operations.convolution.foreign.ck_profiler_operations import OPERATIONS

PROGRAMS: Mapping[str, Program] = {
    "ckProfiler": Program(
        ck_profiler.parse,
        ck_profiler.controls,
        perf=ck_profiler.perf,
        report=ck_profiler_report.report,
        commands=tuple(OPERATIONS),
    ),
    "example_": Program(ck_example.parse, ck_example.controls, ck_example.variant, ck_example.perf),
    "MIOpenDriver": Program(miopen_driver.parse, perf=miopen_driver.perf, report=miopen_report.report),
}
DRIVERS: Mapping[str, Driver] = {"conv": Driver(benchdnn.problem, benchdnn.DEFAULTS, benchdnn.DESCRIPTOR)}

__all__ = ["DRIVERS", "PROGRAMS", "ck_profiler_line"]
