"""A workflow of GitHub Actions on this machine: its jobs one after the other, with their matrix and their artifacts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any
from zlib import crc32

import yaml
from expression import evaluate, fill_in
from machine import Machine, StepError, copy_into, in_order

WORKFLOWS = Path(__file__).resolve().parents[2] / ".github" / "workflows"
ATTEMPT = "1"


@dataclass
class Workflow:
    """One file with its inputs. Those that it calls share its artifacts."""

    machine: Machine
    path: Path
    inputs: Mapping[str, Any]
    event: str

    def run(self, only: Sequence[str] = (), prefix: str = "") -> dict[str, bool]:
        """By name whether a job was green or skipped; ``only`` names those to run, all if it is empty."""
        self.document = yaml.safe_load(self.path.read_text())
        jobs = {name: job for name, job in self.document["jobs"].items() if not only or name in only}
        results: dict[str, Any] = {}
        for name in in_order({name: _listed(job.get("needs", [])) for name, job in jobs.items()}):
            needs = {needed: results[needed] for needed in _listed(jobs[name].get("needs", []))}
            results[name] = self._job(name, jobs[name], needs, prefix)
        return {name: result["result"] != "failure" for name, result in results.items()}

    def _job(self, name: str, job: Mapping[str, Any], needs: Mapping[str, Any], prefix: str) -> dict[str, Any]:
        names = self._names(needs, green=all(need["result"] == "success" for need in needs.values()))
        condition = str(job.get("if", "success()"))
        if not any(f"{status}()" in condition for status in names["status"]):
            condition = f"success() && ({condition})"
        if not evaluate(condition, names):
            print(f"=== {prefix}{name}: skipped", flush=True)
            return {"result": "skipped", "outputs": {}}
        if "uses" in job:
            called = WORKFLOWS / Path(job["uses"].partition("@")[0]).name
            inner = Workflow(self.machine, called, fill_in(job.get("with", {}), names), self.event)
            green = all(inner.run(prefix=f"{prefix}{name} / ").values())
            return {"result": "success" if green else "failure", "outputs": {}}
        outputs: dict[str, Any] = {}
        green = True
        for number, cell in enumerate(_cells(fill_in(job.get("strategy", {}), names).get("matrix", {}))):
            within = {**names, "matrix": cell}
            shown = prefix + (fill_in(job["name"], within) if "name" in job else name)
            folder = self.machine.work / f"{prefix}{name}-{number}".replace(" / ", "-")
            error, outputs = self._steps(job, within, folder)
            self.machine.say(shown, error)
            green &= not error
        return {"result": "success" if green else "failure", "outputs": outputs}

    def _steps(self, job: Mapping[str, Any], names: dict[str, Any], folder: Path) -> tuple[str, dict[str, Any]]:
        """What was wrong with the first step that failed, and the job's outputs."""
        problem = ""
        names = {**names, "steps": {}}
        for step in job["steps"]:
            names["status"] = {"always": True, "success": not problem, "failure": bool(problem)}
            if not evaluate(str(step.get("if", "success()")), names):
                continue
            try:
                outputs = self._step(step, job, names, folder)
                names["steps"][step.get("id", "")] = {"outputs": outputs}
            except (StepError, OSError) as error:
                problem = problem or str(error)
        return problem, fill_in(job.get("outputs", {}), names)

    def _step(
        self, step: Mapping[str, Any], job: Mapping[str, Any], names: dict[str, Any], folder: Path
    ) -> dict[str, str]:
        folder.mkdir(parents=True, exist_ok=True)
        if "uses" in step:
            self._action(step["uses"].partition("@")[0], fill_in(step.get("with", {}), names), folder)
            return {}
        output, summary = folder.with_suffix(".output"), folder.with_suffix(".summary.md")
        stated = fill_in({**self.document.get("env", {}), **job.get("env", {}), **step.get("env", {})}, names)
        output.write_text("")
        self.machine.shell(
            step["run"],
            folder,
            {
                "GITHUB_ACTIONS": "true",
                "GITHUB_RUN_ID": str(crc32(str(self.machine.work).encode())),
                "GITHUB_RUN_ATTEMPT": ATTEMPT,
                "GITHUB_EVENT_NAME": self.event,
                "GITHUB_OUTPUT": str(output),
                "GITHUB_STEP_SUMMARY": str(summary),
                **{name: str(value) for name, value in stated.items()},
            },
        )
        return dict(line.split("=", 1) for line in output.read_text().splitlines())

    def _action(self, name: str, stated: Mapping[str, Any], folder: Path) -> None:
        artifacts = self.machine.work / "artifacts"
        if name == "actions/checkout":
            self.machine.checkout(folder)
        elif name == "actions/upload-artifact":
            (artifacts / stated["name"]).mkdir(parents=True, exist_ok=True)
            copy_into(folder / stated["path"], artifacts / stated["name"])
        elif name == "actions/download-artifact" and "name" in stated:
            if not (artifacts / stated["name"]).is_dir():
                raise StepError(f"there is no artifact {stated['name']}")
            copy_into(artifacts / stated["name"], folder / stated["path"])
        elif name == "actions/download-artifact":
            for found in sorted(artifacts.iterdir()):
                if fnmatchcase(found.name, stated["pattern"]):
                    apart = "" if stated.get("merge-multiple") else found.name
                    copy_into(found, folder / stated["path"] / apart)
        elif name != "actions/setup-python":
            raise StepError(f"no action that is known here: {name}")

    def _names(self, needs: Mapping[str, Any], green: bool) -> dict[str, Any]:
        declared = self.document.get(True, {}) or {}  # YAML 1.1 reads the key `on` as a truth value
        called = declared.get("workflow_call", {}) if isinstance(declared, Mapping) else {}
        defaults = {name: one.get("default", "") for name, one in (called or {}).get("inputs", {}).items()}
        return {
            "inputs": {**defaults, **self.inputs},
            "needs": needs,
            "github": {"run_attempt": ATTEMPT, "event_name": self.event, "event": self.machine.change(self.event)},
            "status": {"always": True, "success": green, "failure": not green},
        }


def _listed(value: Any) -> list[str]:
    return [value] if isinstance(value, str) else list(value)


def _cells(matrix: Mapping[str, Any]) -> list[dict[str, Any]]:
    """What ``include`` lists, or every value of the one dimension that there is."""
    if not matrix:
        return [{}]
    if "include" in matrix:
        return list(matrix["include"])
    ((name, values),) = matrix.items()
    return [{name: value} for value in values]
