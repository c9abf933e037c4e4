"""What tox.ini cannot say: each tier has an environment for each target; and a run that Ctrl-C ended makes tox end with
130, as pytest and bitgate do.

tox forgets the exit code of an environment that it was interrupted in, and ends with 1, "a defect was found".
"""

from __future__ import annotations

import atexit
import os
import sys
from pathlib import Path
from typing import Any

from tox.config.loader.memory import MemoryLoader
from tox.plugin import impl

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

INTERRUPTED = 130
TIERS = ("smoke", "regression")
PROMISED = Path(__file__).parent / "ci" / "targets.toml"
NVIDIA = ("sm_80", "sm_90", "sm_100")


def of_targets() -> dict[str, tuple[str, str]]:
    """Tier and target of each environment's name."""
    promised = tomllib.loads(PROMISED.read_text())["target"]
    emulated = (f"emulated_{name}" for name, stated in promised.items() if stated["platform"] == "amd")
    names = [name.replace(":", "_") for name in (*promised, *NVIDIA, *emulated)]
    return {f"{tier}-{target}": (tier, target) for tier in TIERS for target in names}


@impl
def tox_extend_envs() -> tuple[str, ...]:
    return tuple(of_targets())


@impl
def tox_add_core_config(core_conf: Any, state: Any) -> None:
    for name, (tier, target) in of_targets().items():
        variables = {"TIER": tier, "TARGET": f"--target={target}"}
        settings = MemoryLoader(base=[f"testenv:{tier}", "testenv"], set_env=variables)
        state.conf.memory_seed_loaders[name].append(settings)


@impl
def tox_after_run_commands(tox_env: Any, exit_code: int, outcomes: list[Any]) -> None:
    if any(outcome.exit_code == INTERRUPTED for outcome in outcomes):
        atexit.register(_leave)


def _leave() -> None:
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(INTERRUPTED)  # atexit cannot change the exit code in any other way
