"""From results to what people and dashboards read: JUnit and Markdown. Needs no GPU, no HIP and no kernel."""

from bitgate.report.render import merge, read_run, render
from bitgate.report.summary import Summary

__all__ = ["Summary", "merge", "read_run", "render"]
