"""A pipeline of GitLab on this machine: includes with inputs, jobs by what they need, child pipelines, artifacts."""

from __future__ import annotations

import json
import re
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from string import Template
from typing import Any

import yaml
from machine import Machine, StepError, copy_into, in_order

BITGATE = Path(__file__).resolve().parents[2]
SPECIAL = ("stages", "include", "variables", "default", "workflow")
SOURCES = {"pull_request": "merge_request_event", "schedule": "schedule"}
"""What CI_PIPELINE_SOURCE says of an event."""


@dataclass
class Pipeline:
    """``variables`` are those of the pipeline; ``parent`` of a child is who started it."""

    machine: Machine
    jobs: Mapping[str, Mapping[str, Any]]
    stages: list[str]
    variables: dict[str, str]
    name: str = "pipeline"
    parent: Pipeline | None = None
    kept: dict[str, Path] = field(default_factory=dict)
    """Artifacts by the job that left them."""

    def run(self) -> bool:
        green = True
        for name in in_order({name: self._behind(name) for name in self.jobs}):
            job = self.jobs[name]
            if not green and job.get("when") != "always":
                print(f"=== {name}: skipped", flush=True)
                continue
            try:
                self._job(name, job)
                self.machine.say(name)
            except (StepError, OSError) as error:
                self.machine.say(name, str(error))
                green = False
        return green

    def _behind(self, name: str) -> list[str]:
        """The jobs that one waits for: those that it needs, else all of the stages before its own."""
        needs = self.jobs[name].get("needs")
        if needs is not None:
            return [needed for needed in needs if isinstance(needed, str)]
        before = self.stages[: self.stages.index(self.jobs[name].get("stage", "test"))]
        return [other for other, job in self.jobs.items() if job.get("stage", "test") in before]

    def _job(self, name: str, job: Mapping[str, Any]) -> None:
        if "trigger" in job:
            return self._child(name, job)
        folder = self.machine.work / f"{self.name}-{re.sub(r'[^A-Za-z0-9]+', '-', name)}"
        self.machine.checkout(folder)
        for needed in self._behind(name):
            if needed in self.kept:
                copy_into(self.kept[needed], folder)
        for needed in job.get("needs", []):
            if isinstance(needed, dict):
                self._of_parent(needed, folder)
        try:
            self.machine.shell("\n".join(job["script"]), folder, self._environment(job))
        except StepError:
            if job.get("artifacts", {}).get("when") == "always":
                self._keep(name, job, folder)
            raise
        self._keep(name, job, folder)

    def _environment(self, job: Mapping[str, Any]) -> dict[str, str]:
        known = {**self.variables, **{key: str(value) for key, value in job.get("variables", {}).items()}}
        return {
            "GITLAB_CI": "true",
            **{key: Template(value).substitute(defaultdict(str, known)) for key, value in known.items()},
        }

    def _of_parent(self, needed: Mapping[str, str], folder: Path) -> None:
        named = Template(needed["pipeline"]).safe_substitute(self.variables)
        if self.parent is None or named != self.parent.variables["CI_PIPELINE_ID"]:
            raise StepError(f"there is no pipeline {named}")
        if needed["job"] not in self.parent.kept:
            raise StepError(f"pipeline {named} has no artifacts of {needed['job']}")
        copy_into(self.parent.kept[needed["job"]], folder)

    def _keep(self, name: str, job: Mapping[str, Any], folder: Path) -> None:
        stated = job.get("artifacts", {})
        kept = self.machine.work / "artifacts" / f"{self.name}-{name}"
        for path in stated.get("paths", []):
            copy_into(folder / path, kept / path)
        for report in stated.get("reports", {}).values():
            if not any(folder.glob(report)):
                raise StepError(f"no report {report}")
        if kept.is_dir():
            self.kept[name] = kept

    def _child(self, name: str, job: Mapping[str, Any]) -> None:
        (included,) = job["trigger"]["include"]
        document = yaml.safe_load((self.kept[included["job"]] / included["artifact"]).read_text())
        jobs = {key: value for key, value in document.items() if key not in SPECIAL}
        variables = {**self.variables, **self._environment(job), "CI_PIPELINE_ID": "2"}
        child = Pipeline(self.machine, jobs, document["stages"], variables, f"{self.name}-child", self)
        if not child.run():
            raise StepError("the child pipeline is red")


def load(machine: Machine, path: Path, event: str) -> Pipeline:
    """The pipeline of a file for an event, with what it includes: files of its repository, or of bitgate's."""
    document = yaml.safe_load(path.read_text()) or {}
    source = SOURCES[event]
    jobs = {key: value for key, value in document.items() if key not in SPECIAL}
    for include in document.get("include", []):
        rules = include.get("rules")
        if rules and not any(f'"{source}"' in rule["if"] for rule in rules):
            continue
        name = include.get("local") or include["file"]
        here = machine.repository / name
        jobs |= _included(here if here.is_file() else BITGATE / name, include.get("inputs", {}))
    stages = document.get("stages", [".pre", "build", "test", "deploy", ".post"])
    return Pipeline(machine, jobs, stages, {"CI_PIPELINE_ID": "1", "CI_PIPELINE_SOURCE": source})


def _included(path: Path, inputs: Mapping[str, Any]) -> dict[str, Any]:
    """The jobs of a template: its ``spec`` says what inputs there are, and their defaults."""
    head, _, body = path.read_text().partition("\n---\n")
    declared = yaml.safe_load(head)["spec"]["inputs"]
    if unknown := set(inputs) - set(declared):
        raise StepError(f"{path}: no such input: {', '.join(unknown)}")
    values = {name: inputs.get(name, (stated or {}).get("default")) for name, stated in declared.items()}

    def value(match: re.Match[str]) -> str:
        found = values[match[1]]
        return found if isinstance(found, str) else json.dumps(found)

    document: dict[str, Any] = yaml.safe_load(re.sub(r"\$\[\[ inputs\.(\w+) \]\]", value, body))
    return document
