"""Other harnesses' command lines of convolutions."""

from collections.abc import Mapping

from bitgate.operation.foreign.program import Driver, Program
from bitgate.operations.convolution.foreign import benchdnn, ck_example, ck_profiler, miopen_driver
from bitgate.operations.convolution.foreign.ck_profiler import ck_profiler_line

PROGRAMS: Mapping[str, Program] = {
    "ckProfiler": Program(ck_profiler.parse, ck_profiler.controls),
    "example_": Program(ck_example.parse, ck_example.controls),
    "MIOpenDriver": Program(miopen_driver.parse),
}
DRIVERS: Mapping[str, Driver] = {"conv": Driver(benchdnn.problem, benchdnn.DEFAULTS, benchdnn.DESCRIPTOR)}

__all__ = ["DRIVERS", "PROGRAMS", "ck_profiler_line"]
