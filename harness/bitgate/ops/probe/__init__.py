"""Probes of the platform: they compute nothing, and measure what every kernel takes for granted."""

from bitgate.ops.probe.operation import OPERATIONS, ProbeProblem, Subject

__all__ = ["OPERATIONS", "ProbeProblem", "Subject"]
