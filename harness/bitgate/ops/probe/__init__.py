"""Probes of the platform: they compute nothing, and measure what every kernel takes for granted."""

from bitgate.ops.probe.operation import OPERATIONS
from bitgate.ops.probe.problem import ProbeProblem, Subject

__all__ = ["OPERATIONS", "ProbeProblem", "Subject"]
