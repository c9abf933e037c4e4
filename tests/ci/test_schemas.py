"""Workflow and pipeline files against the schemas of who reads them; Groovy against its grammar."""

from __future__ import annotations

import json
import re
from importlib.resources import files
from pathlib import Path
from typing import Any

import jsonschema
import pytest
import yaml
from groovy_parser.parser import GroovyRestrictedTokenizer, create_groovy_parser
from lark import Lark
from lark.exceptions import UnexpectedInput

from bitgate import rooms
from bitgate.ci.forges import gitlab
from bitgate.ci.matrix import Job

CI = rooms.room("ci")
GROOVY = [CI / "jenkins" / "Jenkinsfile", *sorted((CI / "jenkins" / "vars").glob("*.groovy"))]


def _wrong(name: str, document: Any) -> list[str]:
    schema = json.loads((files("check_jsonschema.builtin_schemas") / "vendor" / f"{name}.json").read_text())
    validator = jsonschema.validators.validator_for(schema)(schema)
    return [f"{error.json_path}: {error.message[:200]}" for error in validator.iter_errors(document)]


@pytest.mark.parametrize("path", sorted((CI / "workflows").glob("*.yml")), ids=lambda path: path.stem)
def test_workflows_are_githubs(path: Path) -> None:
    document = yaml.safe_load(path.read_text())
    document["on"] = document.pop(True)
    assert _wrong("github-workflows", document) == []


def test_a_workflow_that_is_none_is_told() -> None:
    document = yaml.safe_load((CI / "workflows" / "smoke.yml").read_text())
    document["on"] = document.pop(True)
    document["jobs"]["checks"]["runs_on"] = document["jobs"]["checks"].pop("runs-on")
    assert _wrong("github-workflows", document)


def _job(target: str, platform: str, image: str) -> Job:
    return Job(
        target, "smoke", f"smoke-{target}", "1/1", "s1of1", ["a", "b"], 5, "", "p", platform, image, 0, False, []
    )


def test_pipelines_are_gitlabs() -> None:
    jobs = [_job("host", "host", ""), _job("gfx942", "amd", "lab/rocm:7.1")]
    assert _wrong("gitlab-ci", yaml.safe_load(gitlab(jobs))) == []
    assert _wrong("gitlab-ci", yaml.safe_load((CI / "gitlab" / "pipeline.yml").read_text())) == []
    template = (CI / "gitlab" / "bitgate.yml").read_text()
    head, _, body = template.partition("\n---\n")
    inputs = yaml.safe_load(head)["spec"]["inputs"]
    values = {name: stated["default"] for name, stated in inputs.items()}
    used = set(re.findall(r"\$\[\[ inputs\.(\w+) \]\]", body))
    assert used == set(inputs)
    filled = re.sub(r"\$\[\[ inputs\.(\w+) \]\]", lambda m: _spelled(values[m[1]]), body)
    assert _wrong("gitlab-ci", yaml.safe_load(filled)) == []


def _spelled(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value)


def test_a_pipeline_that_is_none_is_told() -> None:
    child = yaml.safe_load(gitlab([_job("host", "host", "")]))
    child["merge"]["scripts"] = child["merge"].pop("script")
    assert _wrong("gitlab-ci", child)


@pytest.fixture(scope="module")
def grammar() -> Lark:
    """Groovy's own, which takes seconds to make."""
    return create_groovy_parser()


def _parse(grammar: Lark, text: str) -> object:
    return grammar.parse(list(GroovyRestrictedTokenizer().get_tokens(text)))  # type: ignore[arg-type]


@pytest.mark.parametrize("path", GROOVY, ids=lambda path: path.name)
def test_jenkins_files_are_groovy(grammar: Lark, path: Path) -> None:
    assert _parse(grammar, path.read_text())


@pytest.mark.parametrize(
    ("old", "new"), [("parallel branches", "parallel branches)"), ("stage('run') {", "stage('run'")]
)
def test_groovy_that_is_none_is_told(grammar: Lark, old: str, new: str) -> None:
    text = (CI / "jenkins" / "vars" / "bitgate.groovy").read_text()
    assert old in text
    with pytest.raises(UnexpectedInput):
        _parse(grammar, text.replace(old, new))
