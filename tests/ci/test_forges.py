"""The jobs of a matrix in three forms; what each flavour runs is the same."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from bitgate.cli.main import run
from bitgate.core import paths
from bitgate.lab.ci.forges import DEVICE_FLAGS, github, gitlab, jenkins
from bitgate.lab.ci.matrix import Job

CI = paths.data_folder("ci")
WORKFLOWS = paths.root() / ".github" / "workflows"
NAMES = st.from_regex(r"[A-Za-z0-9_][A-Za-z0-9_.+-]{0,20}", fullmatch=True)


@st.composite
def some_jobs(draw: st.DrawFn) -> list[Job]:
    def one(number: int) -> Job:
        target = draw(st.sampled_from(["host", "gfx942", "gfx942_xnack-", "gfx9-4-generic"]))
        image = draw(st.sampled_from(["", "lab/rocm:7.1@sha256:00ff"]))
        labels = draw(st.lists(NAMES, min_size=1, max_size=3))
        platform = "host" if target == "host" else "amd"
        return Job(
            target, "smoke", f"smoke-{target}", f"{number}/9", f"s{number}of9", labels, 15, 'why: "so"', "p", platform,
            image, 1, False, [],
        )  # fmt: skip

    return [one(number) for number in range(1, draw(st.integers(1, 4)) + 1)]


@given(some_jobs())
def test_each_form_has_every_job_once_with_its_labels(jobs: list[Job]) -> None:
    wanted = [(job.target, job.shard, job.runs_on) for job in jobs]
    of_github = json.loads(github(jobs))
    assert list(of_github) == ["include"]
    assert [(cell["target"], cell["shard"], cell["runs_on"]) for cell in of_github["include"]] == wanted
    assert [(c["target"], c["shard"], c["label"].split(" && ")) for c in json.loads(jenkins(jobs))] == wanted
    child = yaml.safe_load(gitlab(jobs))
    run = [job for job in child.values() if isinstance(job, dict) and job["stage"] == "run"]
    assert [(job["variables"]["TARGET"], job["variables"]["SHARD"], job["tags"]) for job in run] == wanted


@given(some_jobs())
def test_a_pool_with_an_image_gives_devices_to_the_container(jobs: list[Job]) -> None:
    child = yaml.safe_load(gitlab(jobs))
    for job, of_github, of_jenkins in zip(
        jobs, json.loads(github(jobs))["include"], json.loads(jenkins(jobs)), strict=True
    ):
        flags = " ".join(DEVICE_FLAGS[job.platform])
        assert of_github["container"] == ({"image": job.image, "options": flags} if job.image else "")
        assert of_jenkins["docker"] == flags
        assert child[f"{job.env} {job.part}"]["image"] == (job.image or "$BITGATE_IMAGE")


def test_the_child_pipeline_keeps_what_a_red_job_left() -> None:
    child = yaml.safe_load(gitlab(_one()))
    for name in ("smoke-host s1of1", "merge"):
        assert child[name]["artifacts"]["when"] == "always"
        assert ("reports" in child[name]["artifacts"]) == (name == "merge"), "each test is counted once"
    assert child["merge"]["when"] == "always"
    plans = yaml.safe_load((CI / "gitlab" / "bitgate.yml").read_text().partition("\n---\n")[2])
    (needed,) = child["plan"]["needs"]
    assert needed["job"].replace("smoke", "$[[ inputs.tier ]]") in plans


def _one() -> list[Job]:
    return [Job("host", "smoke", "smoke-host", "1/1", "s1of1", ["linux"], 5, "r", "p", "host", "", 0, False, [])]


def _bitgate_lines(text: str) -> list[str]:
    """Lines that call pip and bitgate, without what is of the forge."""
    found = []
    for line in text.splitlines():
        called = re.search(r"(?:^|[\s'\"])((?:pip install|bitgate (?:run|ci|bench|compile)) [^'\n]*)", line)
        if called and not line.lstrip().startswith(("#", "//")):
            said = re.sub(
                r" (> plan/.*|--for \w+|--annotate \w+|--whole|--out plan/matrix.json)", "", called[1]
            ).strip()
            found.append(re.sub(r"merge (results|out) ", "merge RESULTS ", said))
    return sorted(set(found))


def test_every_flavour_runs_the_same_lines() -> None:
    of_github = _bitgate_lines((WORKFLOWS / "tier.yml").read_text())
    child = yaml.safe_load(gitlab(_one())).values()
    scripts = [line for job in child if isinstance(job, dict) for line in job["script"]]
    of_gitlab = _bitgate_lines("\n".join([(CI / "gitlab" / "bitgate.yml").read_text(), *scripts]))
    of_jenkins = _bitgate_lines((CI / "jenkins" / "vars" / "bitgate.groovy").read_text())
    assert len(of_github) == 7
    assert of_github == of_gitlab == of_jenkins


def test_every_flavour_has_the_same_gate() -> None:
    files = (WORKFLOWS / "gate.yml", CI / "gitlab" / "gate.yml", CI / "jenkins" / "vars" / "bitgateGate.groovy")
    of_github, *others = (_bitgate_lines(file.read_text()) for file in files)
    assert [line.split()[:2] for line in of_github] == [["bitgate", "bench"], ["pip", "install"]]
    assert others == [of_github, of_github]


def test_our_own_pipelines_call_what_an_owner_calls() -> None:
    """What others rely on is what we run ourselves."""
    for name in ("smoke", "nightly"):
        job = yaml.safe_load((WORKFLOWS / f"{name}.yml").read_text())["jobs"]["tier"]
        assert job["uses"] == "./.github/workflows/tier.yml"
    included = yaml.safe_load((CI / "gitlab" / "pipeline.yml").read_text())["include"]
    assert {include["local"] for include in included} == {"ci/gitlab/bitgate.yml"}
    assert {include["inputs"]["tier"] for include in included} == {"smoke", "regression"}
    assert re.search(r"^bitgate\(", (CI / "jenkins" / "Jenkinsfile").read_text(), re.MULTILINE)


@pytest.mark.parametrize("forge", ["github", "gitlab", "jenkins"])
def test_our_own_targets_have_a_job_in_every_flavour(forge: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["ci", "matrix", "--tier", "smoke", "--for", forge]) == 0
    out, err = capsys.readouterr()
    read: Any = yaml.safe_load(out) if forge == "gitlab" else json.loads(out)
    assert "smoke-host" in str(read)
    assert "gfx942   smoke  skip  gate nightly runs regression only" in err


def test_a_wrong_forge_is_named(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    assert run(["ci", "matrix", "--for", "gitlub"]) == 2
    assert "--for gitlub: did you mean 'gitlab'?" in capsys.readouterr().err
    assert run(["ci", "matrix", "--for", "github", "--json"]) == 2
    assert "give one of them" in capsys.readouterr().err
    (tmp_path / "file").touch()
    assert run(["ci", "matrix", "--out", str(tmp_path / "file" / "m.json")]) == 2
    assert "cannot be written" in capsys.readouterr().err
