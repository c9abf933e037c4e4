"""The jobs of a matrix in the formats of GitHub, GitLab and Jenkins."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from typing import Any

from bitgate.lab.ci.matrix import Job

DEVICE_FLAGS: Mapping[str, tuple[str, ...]] = {
    "host": (),
    "amd": (
        "--device=/dev/kfd",
        "--device=/dev/dri",
        "--group-add=video",
        "--group-add=render",
        "--ipc=host",
        "--ulimit=memlock=-1:-1",
        "--security-opt=seccomp=unconfined",
    ),
    "nvidia": ("--gpus=all", "--ipc=host", "--ulimit=memlock=-1:-1"),
}
"""Flags that give a container the GPUs of its machine, by platform. ``docs/containers.md`` explains each."""


def github(jobs: Sequence[Job]) -> str:
    """Return the value of ``strategy.matrix``, on one line.

    It has ``include`` only: GitHub would take any other key for a dimension.
    """
    include = [{**asdict(job), "container": _container(job)} for job in jobs]
    return json.dumps({"include": include}, separators=(",", ":")) + "\n"


def _container(job: Job) -> Any:
    """Return the value of ``jobs.<name>.container``: an empty text stands for no container."""
    return {"image": job.image, "options": " ".join(DEVICE_FLAGS[job.platform])} if job.image else ""


def jenkins(jobs: Sequence[Job]) -> str:
    """Return a JSON list for ``vars/bitgate.groovy``.

    ``label`` is Jenkins' expression, ``docker`` the arguments of ``inside``.
    """
    return (
        json.dumps(
            [
                {**asdict(job), "label": " && ".join(job.runs_on), "docker": " ".join(DEVICE_FLAGS[job.platform])}
                for job in jobs
            ],
            indent=1,
        )
        + "\n"
    )


def gitlab(jobs: Sequence[Job]) -> str:
    """Return a child pipeline, in YAML.

    ``ci/gitlab/bitgate.yml`` starts it with the variables PARENT_PIPELINE_ID, BITGATE (what pip installs),
    BITGATE_IMAGE, HISTORY and NOTIFY.
    """
    builds = {key: value for job in jobs if job.part.startswith("s1of") for key, value in _gitlab_build(job).items()}
    stated = builds | {key: value for job in jobs for key, value in _gitlab_job(job).items()}
    tier = jobs[0].tier if jobs else ""
    # Jobs without a GPU run where the host's jobs do: a lab may have no runner for jobs without a tag.
    tags = next(({"tags": job.runs_on} for job in jobs if job.platform == "host"), {})
    return "# Made by `bitgate ci matrix --for gitlab`.\n" + _yaml(
        {**_frame(tier, tags), **stated, **(_merge(tags) if jobs else {})}
    )


def _frame(tier: str, tags: Mapping[str, Any]) -> dict[str, Any]:
    # A job of the child sees the parent's files only by naming pipeline and job, and then no others: one copies them.
    return {
        "stages": ["plan", "build", "run", "merge"],
        "plan": {
            "stage": "plan",
            "image": "$BITGATE_IMAGE",
            **tags,
            "needs": [{"pipeline": "$PARENT_PIPELINE_ID", "job": f"bitgate-plan-{tier}"}],
            "script": ["cat plan/matrix.json"],
            "artifacts": {"paths": ["plan/"]},
        },
    }


def _gitlab_build(job: Job) -> dict[str, Any]:
    return {
        f"build {job.env}": {
            "stage": "build",
            "image": job.image or "$BITGATE_IMAGE",
            "tags": job.runs_on,
            "timeout": f"{job.minutes} minutes",
            "variables": {"TIER": job.tier, "TARGET": job.target},
            "script": [
                'pip install "$BITGATE"',
                'bitgate compile --tier "$TIER" --target "$TARGET" --artefacts store'
                ' --manifest "store/built-$TARGET.json"',
            ],
            "artifacts": {"paths": ["store/"]},
        }
    }


def _gitlab_job(job: Job) -> dict[str, Any]:
    return {
        f"{job.env} {job.part}": {
            "stage": "run",
            "image": job.image or "$BITGATE_IMAGE",
            "tags": job.runs_on,
            "timeout": f"{job.minutes} minutes",
            # Retry once on another machine where this one failed, never for a shard's findings.
            "retry": {"max": 1, "when": ["runner_system_failure", "stuck_or_timeout_failure"]},
            "variables": {"TIER": job.tier, "TARGET": job.target, "SHARD": job.shard, "BITGATE_OUT": "out"},
            "script": [
                'pip install "$BITGATE"',
                'bitgate run --tier "$TIER" --target "$TARGET" --plan plan/plan.json --shard "$SHARD"'
                " --artefacts store --fetch-only",
            ],
            # Its tests are in the report of the merge: GitLab would count them twice.
            "artifacts": {"when": "always", "paths": ["out/"]},
        }
    }


def _merge(tags: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "merge": {
            "stage": "merge",
            "when": "always",
            "image": "$BITGATE_IMAGE",
            **tags,
            "script": [
                'pip install "$BITGATE"',
                "mkdir -p out store",
                "bitgate ci merge out --matrix plan/matrix.json --plan plan/plan.json --built store --out merged"
                ' --history "$HISTORY" --notify "$NOTIFY" --annotate gitlab',
            ],
            "artifacts": {
                "when": "always",
                "paths": ["merged/"],
                "reports": {"junit": "merged/junit*.xml", "codequality": "merged/codequality.json"},
            },
        }
    }


def _yaml(value: Mapping[str, Any], depth: int = 0) -> str:
    """Format tables in block style and the rest in flow style; texts are quoted as in JSON, which YAML reads too."""
    lines = []
    for key, inner in value.items():
        lead = "  " * depth + (json.dumps(key) if " " in key else key) + ":"
        if isinstance(inner, Mapping):
            lines.append(f"{lead}\n{_yaml(inner, depth + 1)}")
        elif isinstance(inner, list) and key == "script":
            items = "".join("  " * (depth + 1) + f"- {json.dumps(one)}\n" for one in inner)
            lines.append(f"{lead}\n{items}")
        else:
            lines.append(f"{lead} {json.dumps(inner)}\n")
        if not depth:
            lines.append("\n")
    return "".join(lines).rstrip("\n") + "\n"


FORMS: Mapping[str, Callable[[Sequence[Job]], str]] = {"github": github, "gitlab": gitlab, "jenkins": jenkins}
