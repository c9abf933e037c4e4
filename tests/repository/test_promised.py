"""The machine on which `.ci/run` runs README's two commands has what README promises, and nothing else."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from tests.needs import NEEDS

from bitgate.core import paths

ASKS = """
import json, os
from promised import promised_machine
with promised_machine() as machine:
    machine.link_programs()
    home = os.listdir(machine.environment["HOME"])
    programs = os.listdir(machine.environment["PATH"])
    print(json.dumps({"home": home, "programs": programs, "environment": machine.environment}))
"""


def machine(**environment: str) -> Any:
    """What it has, with these variables of the caller."""
    own = {"PATH": os.environ["PATH"], "PYTHONPATH": str(paths.root() / ".ci")}
    asked = [sys.executable, "-c", ASKS]
    return json.loads(subprocess.run(asked, env=own | environment, capture_output=True, text=True, check=True).stdout)


@pytest.mark.needs("apt")
def test_it_has_what_the_readme_promises_and_no_more(tmp_path: Path) -> None:
    found = machine(HOME=str(tmp_path), CXX="clang++", ROCM_PATH="/opt/rocm", XDG_CACHE_HOME="/cache")
    assert {"g++", "as", "ld", "git", "python3", "sh", "bash", "awk"} <= set(found["programs"])
    beyond = {need.programs[0] for name, need in NEEDS.items() if need.programs and name != "apt"}
    assert not beyond & set(found["programs"])
    assert found["home"] == []
    assert found["environment"].keys() <= {"PATH", "HOME", "BITGATE_CACHE", "LC_CTYPE"}
    assert not Path(found["environment"]["BITGATE_CACHE"]).exists()  # it was made for this run


@pytest.mark.needs("apt")
def test_a_cache_that_the_caller_names_and_pips_index_are_kept(tmp_path: Path) -> None:
    for folder in (".pip", ".config/pip"):
        (tmp_path / folder).mkdir(parents=True)
        (tmp_path / folder / "pip.conf").touch()
        found = machine(HOME=str(tmp_path), BITGATE_CACHE="/warm")["environment"]
        assert (found["BITGATE_CACHE"], found["PIP_CONFIG_FILE"]) == ("/warm", str(tmp_path / folder / "pip.conf"))
    stated = machine(HOME=str(tmp_path), PIP_CONFIG_FILE="/mine", PIP_INDEX_URL="https://index")["environment"]
    assert (stated["PIP_CONFIG_FILE"], stated["PIP_INDEX_URL"]) == ("/mine", "https://index")
