"""A program whose lines several operations read, each by the commands that it knows."""

from __future__ import annotations

from collections.abc import Sequence

from bitgate.interop.controls import Controls
from bitgate.interop.perf_request import PerfRequest
from bitgate.interop.program import Program
from bitgate.model.problem import Problem, ProblemError


def joined(name: str, programs: Sequence[Program]) -> Program:
    """Join the readers of one program's lines; those that state no controls or no timing give the defaults."""
    known = {command: program for program in programs for command in program.commands}

    def reader(words: Sequence[str]) -> Program:
        command = words[1] if len(words) > 1 else ""
        if command not in known:
            raise ProblemError(f"{name} operation '{command}' is not understood: {', '.join(known)} are")
        return known[command]

    def parse(words: Sequence[str]) -> tuple[Problem, ...]:
        return reader(words).parse(words)

    def controls(words: Sequence[str]) -> Controls:
        read = reader(words).controls
        return read(words) if read else Controls()

    def perf(words: Sequence[str]) -> PerfRequest:
        read = reader(words).perf
        return read(words) if read else PerfRequest()

    return Program(parse, controls, perf=perf)
