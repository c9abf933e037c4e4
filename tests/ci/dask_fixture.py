"""A Dask of this machine: a scheduler and workers, a process each, that announce the targets they are given."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

PATIENCE_SECONDS = 90.0


@dataclass
class DaskFixture:
    """``address`` of the scheduler; ``workers`` by name, each of which runs one task at a time."""

    folder: Path
    address: str = ""
    scheduler: subprocess.Popen[bytes] | None = None
    workers: dict[str, subprocess.Popen[bytes]] = field(default_factory=dict)

    def start(self) -> None:
        told = self.folder / "scheduler.json"
        self.scheduler = self._process(
            "scheduler", "--host", "127.0.0.1", "--port", "0", "--no-dashboard", "--scheduler-file", str(told)
        )
        _until(told.exists)
        from distributed import Client

        with Client(scheduler_file=str(told), timeout=PATIENCE_SECONDS, set_as_default=False) as client:
            self.address = client.scheduler.address

    def add(self, name: str, target: str) -> None:
        options = ["--nthreads", "1", "--no-nanny", "--name", name, "--resources", f"{target}=1", "--no-dashboard"]
        place = ["--local-directory", str(self.folder / name)]
        self.workers[name] = self._process("worker", self.address, *options, *place)

    def wait_for_workers(self) -> None:
        from distributed import Client

        with Client(self.address, timeout=PATIENCE_SECONDS, set_as_default=False) as client:
            client.wait_for_workers(len(self.workers), timeout=PATIENCE_SECONDS)

    def kill(self, name: str) -> None:
        self.workers[name].kill()
        self.workers[name].wait()

    def stop(self) -> None:
        """What a worker runs ends with it."""
        for process in [*self.workers.values(), *filter(None, [self.scheduler])]:
            process.kill()
            process.wait()

    def _process(self, *arguments: str) -> subprocess.Popen[bytes]:
        with (self.folder / f"{arguments[0]}.txt").open("ab") as log:
            return subprocess.Popen(
                [sys.executable, "-m", "distributed.cli.dask_" + arguments[0], *arguments[1:]],
                cwd=self.folder,
                env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
                stdout=log,
                stderr=subprocess.STDOUT,
            )


@contextmanager
def dask_fixture(folder: Path, workers: Mapping[str, str]) -> Iterator[DaskFixture]:
    """``workers``: target by name."""
    folder.mkdir(parents=True, exist_ok=True)
    cluster = DaskFixture(folder)
    try:
        cluster.start()
        for name, target in workers.items():
            cluster.add(name, target)
        cluster.wait_for_workers()
        yield cluster
    finally:
        cluster.stop()


def _until(true) -> None:
    end = time.monotonic() + PATIENCE_SECONDS
    while not true():
        assert time.monotonic() < end, "it never came true"
        time.sleep(0.05)
