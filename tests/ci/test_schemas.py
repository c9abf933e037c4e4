"""Workflow and pipeline files against the schemas of who reads them; Groovy against its grammar."""

from __future__ import annotations

import json
import re
from importlib.metadata import version
from importlib.resources import files
from pathlib import Path
from typing import Any

import jsonschema
import pytest
import yaml
from groovy_parser.parser import create_groovy_parser
from groovy_parser.tokenizer import GroovyRestrictedTokenizer
from lark.exceptions import UnexpectedInput

from bitgate.core import paths
from bitgate.lab.ci.forges import gitlab
from bitgate.lab.ci.matrix import Job, cells
from bitgate.results.targets_file import read_targets

CI = paths.data_folder("ci")
WORKFLOWS = paths.root() / ".github" / "workflows"
NO_TAGS: dict[str, Any] = {} if version("check_jsonschema") >= "0.39" else {"tags": ["docker"]}
"""GitLab takes an empty list; schemas of before, which Python 3.10 has, ask for a tag."""
GROOVY = [CI / "jenkins" / "Jenkinsfile", *sorted((CI / "jenkins" / "vars").glob("*.groovy"))]


def _wrong(name: str, document: Any) -> list[str]:
    schema = json.loads((files("check_jsonschema.builtin_schemas") / "vendor" / f"{name}.json").read_text())
    validator = jsonschema.validators.validator_for(schema)(schema)
    return [f"{error.json_path}: {error.message[:200]}" for error in validator.iter_errors(document)]


@pytest.mark.parametrize("path", sorted(WORKFLOWS.glob("*.yml")), ids=lambda path: path.stem)
def test_workflows_are_githubs(path: Path) -> None:
    document = yaml.safe_load(path.read_text())
    document["on"] = document.pop(True)
    assert _wrong("github-workflows", document) == []


def test_a_workflow_that_is_none_is_told() -> None:
    document = yaml.safe_load((WORKFLOWS / "smoke.yml").read_text())
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


@pytest.mark.parametrize(
    ("name", "stated"), [("bitgate", NO_TAGS), ("gate", {"sweep": "resnet50", "target": "gfx942", "tags": ["mi300"]})]
)
def test_templates_are_gitlabs(name: str, stated: dict[str, Any]) -> None:
    """What an owner must state, and the defaults of the rest."""
    head, _, body = (CI / "gitlab" / f"{name}.yml").read_text().partition("\n---\n")
    inputs = yaml.safe_load(head)["spec"]["inputs"]
    values = {name: one["default"] for name, one in inputs.items() if "default" in one} | stated
    used = set(re.findall(r"\$\[\[ inputs\.(\w+) \]\]", body))
    assert used == set(inputs) == set(values)
    filled = re.sub(r"\$\[\[ inputs\.(\w+) \]\]", lambda m: _spelled(values[m[1]]), body)
    assert _wrong("gitlab-ci", yaml.safe_load(filled)) == []


def _spelled(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value)


def test_a_pipeline_that_is_none_is_told() -> None:
    child = yaml.safe_load(gitlab([_job("host", "host", "")]))
    child["merge"]["scripts"] = child["merge"].pop("script")
    assert _wrong("gitlab-ci", child)


@pytest.mark.nightly
def test_jenkins_files_are_groovy_and_what_is_none_is_told() -> None:
    grammar = create_groovy_parser()  # takes seconds: one test for all

    def parse(text: str) -> object:
        return grammar.parse(list(GroovyRestrictedTokenizer().get_tokens(text)))

    assert len(GROOVY) == 3
    for path in GROOVY:
        assert parse(path.read_text())
    assert parse(*_blocks("groovy"))
    library = GROOVY[1].read_text()
    for old, new in (("parallel branches", "parallel branches)"), ("stage('run') {", "stage('run'")):
        assert old in library
        with pytest.raises(UnexpectedInput):
            parse(library.replace(old, new))


DOCUMENT = (paths.root() / "docs" / "ci.md").read_text()


def _blocks(language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", DOCUMENT, re.DOTALL)


def test_the_pipelines_that_the_document_shows_are_right() -> None:
    of_github, of_gitlab = map(yaml.safe_load, _blocks("yaml"))
    of_github["on"] = of_github.pop(True)
    assert _wrong("github-workflows", of_github) == []
    called = yaml.safe_load((WORKFLOWS / "tier.yml").read_text())
    stated = of_github["jobs"]["kernels"]["with"]
    assert set(stated) <= set(called[True]["workflow_call"]["inputs"])
    assert _wrong("gitlab-ci", of_gitlab) == []
    (include,) = of_gitlab["include"]
    head = yaml.safe_load((CI / "gitlab" / "bitgate.yml").read_text().partition("\n---\n")[0])
    assert set(include["inputs"]) <= set(head["spec"]["inputs"])
    (jenkinsfile,) = _blocks("groovy")
    taken = set(re.findall(r"options\.(\w+)", (CI / "jenkins" / "vars" / "bitgate.groovy").read_text()))
    assert set(re.findall(r"(\w+): '", jenkinsfile)) <= taken


def test_the_targets_file_that_the_document_shows_is_right(tmp_path: Path) -> None:
    (text,) = _blocks("toml")
    path = tmp_path / "targets.toml"
    path.write_text(text)
    (cell,) = cells(read_targets(path), "smoke")
    assert cell.pool is not None
    assert cell.pool.name == "mi300"
    assert len(cell.promise.tolerated) == 1
