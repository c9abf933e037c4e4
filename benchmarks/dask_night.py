"""A night on a Dask of this machine, in which a worker and the controller are killed.

    python benchmarks/dask_night.py [--out FOLDER] [--shards N]

A scheduler and six workers, a process each, that announce gfx942, gfx90a and gfx1201; the host runs in the place of
each. Three suites of the smoke tier run on all three targets, as in ``benchmarks/slurm_night.py``. In the middle one
worker is killed, then the controller, which is started again with --resume. Every case must end with one verdict on
each target, and what ran again must be reported. Ends with 1 if not. Needs ``distributed``, and no GPU.
"""

from __future__ import annotations

import argparse
import shutil
import sys
import tempfile
import time
from pathlib import Path

from bitgate.core import paths

sys.path.insert(0, str(paths.root()))
sys.path.insert(0, str(Path(__file__).parent))

from slurm_night import TARGETS, Night, report, with_verdicts, write_project
from tests.ci.dask_fixture import DaskFixture, dask_fixture

WORKERS = {f"w{2 * number + half}": name for number, name in enumerate(TARGETS) for half in (1, 2)}


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--out", type=Path, help="an empty folder, kept; default: a temporary one")
    parser.add_argument("--shards", type=int, default=4, help="of each target")
    arguments = parser.parse_args()
    folder = (arguments.out or Path(tempfile.mkdtemp(prefix="bitgate-dask-"))).absolute()
    try:
        write_project(folder, backend="dask")
        with dask_fixture(folder / "dask", WORKERS) as cluster:
            executor = ("--executor=dask", f"--option=scheduler={cluster.address}", "-n0")
            return show(Night(folder, arguments.shards, *executor), cluster)
    finally:
        if not arguments.out:
            shutil.rmtree(folder, ignore_errors=True)


def show(night: Night, cluster: DaskFixture) -> int:
    begun = time.monotonic()

    def tell(line: str) -> None:
        print(f"{time.monotonic() - begun:6.1f} s  {line}", flush=True)

    night.start()
    tell(f"submitted; workers {', '.join(f'{worker} {name}' for worker, name in WORKERS.items())}")
    place, worker = with_verdicts(night, lambda worker: WORKERS.get(worker) == "gfx942")
    cluster.kill(worker)
    tell(f"{worker} was killed while it ran {place[0]} {place[1]}")
    place, worker = with_verdicts(night, lambda worker: WORKERS.get(worker) == "gfx1201")
    night.kill()
    tell(f"the controller was killed while {place[0]} {place[1]} ran on {worker}")
    time.sleep(5)
    night.start("--resume")
    tell("started again with --resume")
    code = night.wait()
    tell(f"ended with {code}")
    return 1 if report(night, code, told=("node failed",)) else 0


if __name__ == "__main__":
    sys.exit(main())
