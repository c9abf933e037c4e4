"""Which measure of the sandbox keeps a GPU's driver from starting: ``python tests/judge/on_gpu.py --probe``."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from time import monotonic
from typing import Any

from bitgate.core.errors import UsageError
from bitgate.worker import gpu_driver, sandbox

MEMORY = 16 << 30
SECONDS = 40

STARTS = "from bitgate.worker.gpu_driver import why_not_started; why = why_not_started()"
RUNS_TORCH = """
import torch
one = torch.ones(512, 512, device="cuda")
why = "" if float((one @ one).sum()) == 512.0 ** 3 else "torch's product is wrong"
"""
AROUND = """
import json
%s
from bitgate.worker.sandbox import enter
had = enter()
try:
    %s
except Exception as error:
    why = f"{type(error).__name__}: {error}".splitlines()[0]
print()
print(json.dumps({"why": why, "had": had}))
"""


@dataclass(frozen=True)
class Trial:
    """A process that starts the driver with some of the measures."""

    name: str
    without: Sequence[str] = ()
    before: str = "pass"
    """Python code that the process runs before it enters the sandbox."""
    then: str = STARTS
    changed: Mapping[str, Any] = field(default_factory=dict)
    """Fields of its statement that have other values."""
    environment: Mapping[str, str | None] = field(default_factory=dict)

    def answer(self, folder: Path) -> str:
        """Return why the driver does not start, empty if it does, and how long it took."""
        stated = {**sandbox.statement(folder, MEMORY, of_gpu=True), "without": list(self.without), **self.changed}
        merged = {**os.environ, **self.environment, sandbox.VARIABLE: json.dumps(stated)}
        environment = {name: value for name, value in merged.items() if value is not None}
        then = self.then.strip().replace("\n", "\n    ")
        command = [sys.executable, "-c", AROUND % (self.before, then)]
        begun = monotonic()
        try:
            done = subprocess.run(
                command, env=environment, capture_output=True, text=True, check=False, timeout=SECONDS
            )
        except subprocess.TimeoutExpired:
            return f"no answer within {SECONDS} s"
        took = f"[{monotonic() - begun:.1f} s]"
        if done.returncode != 0:
            return f"exit code {done.returncode}: {done.stderr.strip()[-300:]} {took}"
        answer = json.loads(done.stdout.splitlines()[-1])
        return f"{answer['why'] or 'starts'} {took}"


def trials() -> Iterator[Trial]:
    every = sandbox.SPARED
    outside = "from bitgate.worker import outside"
    yield Trial("only the private folder", every)
    for one in every:
        yield Trial(f"only {one}", [other for other in every if other != one])
    for one in every:
        yield Trial(f"all but {one}", [one])
    yield Trial("all")
    silent = {"writes": gpu_driver.devices()}
    yield Trial("all, threads cannot be named", changed=silent)
    yield Trial("only files, threads cannot be named", [one for one in every if one != "files"], changed=silent)
    yield Trial("all, as a launcher", before=f"{outside}; outside.give_up_reaching()")
    yield Trial("all, undumpable", before=f"{outside}; outside.refuse_tracing()")
    yield Trial("all, no HOME", environment={"HOME": None})
    yield Trial("all, 4 GiB", changed={"memory": 4 << 30})
    yield Trial("none, torch", every, then=RUNS_TORCH)
    yield Trial("all, torch", then=RUNS_TORCH)
    yield Trial("all, 8 GiB, torch", then=RUNS_TORCH, changed={"memory": 8 << 30})


def probe() -> int:
    """Print a line for each trial and what the judge would take; return 1 if it would leave out a measure."""
    print(f"writable: {', '.join([*gpu_driver.devices(), gpu_driver.THREADS])}", flush=True)
    with tempfile.TemporaryDirectory() as folder, ThreadPoolExecutor(6) as pool:
        every = list(trials())
        for one, answer in zip(every, pool.map(lambda one: one.answer(Path(folder)), every), strict=True):
            print(f"{one.name:38} {answer}", flush=True)
        begun = monotonic()
        try:
            measures = sandbox.prepare(Path(folder), MEMORY, of_gpu=True)
        except UsageError as error:
            measures = [f"without any: {error}"]
    print(f"the judge's sandbox, found in {monotonic() - begun:.1f} s:")
    print("\n".join(f"  {one}" for one in measures))
    return 1 if any(one.startswith("without") for one in measures) else 0
