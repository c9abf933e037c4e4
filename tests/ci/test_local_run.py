"""What forges run, run here: the shell lines of each flavour, for an owner's repository and for bitgate itself."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from threading import Thread

import pytest

from bitgate.core import paths

CHECKOUT = paths.root()
RUN = CHECKOUT / ".ci" / "local" / "run.py"
groovy = pytest.mark.needs("groovy")
GITHUB, GITLAB, JENKINS = "github", "gitlab", pytest.param("jenkins", marks=groovy)

TARGET = """
schema = 2

[target.host]
platform = "host"
gate = "pull_request"
minutes = { smoke = 5, regression = 10 }
"""
POOL = """
[[pool]]
name = "of_{forge}"
target = "host"
backend = "{forge}"
labels = ["linux"]
state = "up"
"""
DRAINED = """
[target.gfx942]
platform = "amd"
gate = "pull_request"
minutes = { smoke = 5, regression = 10 }

[[pool]]
name = "mi300"
target = "gfx942"
backend = "github"
labels = ["mi300"]
state = "drained: no power until Friday"
"""
# What an owner writes to have their kernels gated.
PIPELINES = {
    ".github/workflows/kernels.yml": """
on: pull_request
permissions:
  contents: read
jobs:
  kernels:
    uses: OWNER/bitgate/.github/workflows/tier.yml@0123456789abcdef0123456789abcdef01234567
    with:
      tier: smoke
      shards: "2"
""",
    ".gitlab-ci.yml": """
include:
  - project: lab/bitgate
    file: ci/gitlab/bitgate.yml
    inputs:
      tier: smoke
      shards: "2"
""",
    "Jenkinsfile": """
@Library('bitgate') _
bitgate(tier: 'smoke', shards: '2')
""",
}
FILE = dict(zip(("github", "gitlab", "jenkins"), PIPELINES, strict=True))
MODULE = """
from bitgate.testing import cases


@cases("mine")
def test_bits(planned, check, expect_dispatch):
    expect_dispatch(check(planned), path="pointwise")
"""
TABLE = """
[[case]]
name = "two layouts"
why = "every cell of dx is the sum over K"
pass = "bwd_data"
dtypes = "f32"
layouts = ["nhwgc", "gnhwc"]
shape = "g2n2k5c3_y1x1_h5x7"
tier = "smoke"
"""


@pytest.fixture
def owners(tmp_path: Path) -> Path:
    """A repository with a kernel, a suite, targets and a pipeline of each flavour."""
    folder = tmp_path / "owners"
    shutil.copytree(CHECKOUT / "examples" / "pointwise", folder / "kernels" / "mine")
    pools = [POOL.format(forge=forge) for forge in FILE]
    files = {
        "bitgate.toml": '[bitgate]\nload = ["kernels/mine"]\n',
        "suites/mine/cases.toml": TABLE,
        "suites/mine/test_mine.py": MODULE,
        "ci/targets.toml": "".join([TARGET, *pools, DRAINED]),
        **PIPELINES,
    }
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    return folder


def _run(repository: Path, work: Path, flavour: str, *more: str) -> subprocess.CompletedProcess[str]:
    words = [sys.executable, str(RUN), flavour, *more, "--repository", str(repository), "--work", str(work)]
    environment = {**os.environ, "PYTHONPATH": str(CHECKOUT / "harness")}
    return subprocess.run(words, capture_output=True, text=True, timeout=900, check=False, env=environment)


def _merged(work: Path) -> str:
    kept = {"artifacts", "stash"}  # copies, as GitLab and Jenkins keep them
    (summary,) = [path for path in work.rglob("merged/summary.md") if not kept & set(path.parts)]
    return summary.read_text()


@pytest.mark.nightly
@pytest.mark.parametrize("flavour", [GITHUB, GITLAB, JENKINS])
def test_an_owners_repository_is_green_in_each_flavour(owners: Path, tmp_path: Path, flavour: str) -> None:
    work = tmp_path / "work"
    done = _run(owners, work, flavour, FILE[flavour])
    assert done.returncode == 0, done.stdout + done.stderr
    summary = _merged(work)
    assert "GREEN: 2 verdicts on host" in summary
    assert "gfx942" in summary  # drained, or of another forge: it does not run, and is not forgotten
    assert done.stdout.count("bitgate run --tier") == 2


def _break(owners: Path) -> None:
    kernel = owners / "kernels" / "mine" / "pointwise.hip.cpp"
    text = kernel.read_text()
    assert "at_y.column < shape.k" in text
    kernel.write_text(text.replace("at_y.column < shape.k", "at_y.column < shape.k - 1"))


@pytest.mark.nightly
@pytest.mark.parametrize("flavour", [GITHUB, GITLAB, JENKINS])
def test_a_wrong_kernel_is_red_and_the_merge_reports_it(owners: Path, tmp_path: Path, flavour: str) -> None:
    _break(owners)
    work = tmp_path / "work"
    done = _run(owners, work, flavour, FILE[flavour])
    assert done.returncode == 1, done.stdout + done.stderr
    assert "RED: 2 of 2 verdicts on host" in _merged(work)
    if flavour == "github":
        assert "::error file=suites/mine/cases.toml,line=2,title=MISMATCH on host" in done.stdout
        assert "::warning title=gfx942 did not run::pool mi300 drained: no power until Friday" in done.stdout
    if flavour == "gitlab":
        assert (work / "artifacts" / "pipeline-child-merge" / "merged" / "codequality.json").is_file()


# The same for the gate, whose base here is the last commit.
GATES = {
    ".github/workflows/gate.yml": """
on: pull_request
permissions:
  contents: read
jobs:
  gate:
    uses: OWNER/bitgate/.github/workflows/gate.yml@0123456789abcdef0123456789abcdef01234567
    with:
      sweep: suites/sweeps/mine.toml
      target: host
      labels: '["quiet"]'
""",
    ".gitlab-ci.yml": """
include:
  - project: lab/bitgate
    file: ci/gitlab/gate.yml
    inputs:
      sweep: suites/sweeps/mine.toml
      target: host
      tags: [quiet]
      base: origin/HEAD
""",
    "Jenkinsfile": """
@Library('bitgate') _
bitgateGate(sweep: 'suites/sweeps/mine.toml', target: 'host')
""",
}
SWEEP = """
title = "what the kernel is used for"

[[case]]
name = "small"
why = "one block"
case = "bwd_data_f32_nhwgc_g2n2k5c3_y1x1_h5x7"
"""


@pytest.fixture
def gated(owners: Path) -> Path:
    """The repository with a sweep and the gate's pipelines, all in one commit."""
    (owners / "suites" / "sweeps").mkdir()
    (owners / "suites" / "sweeps" / "mine.toml").write_text(SWEEP)
    for name, text in GATES.items():
        (owners / name).write_text(text)
    as_somebody = ["-c", "user.name=ann", "-c", "user.email=ann@lab"]
    for words in (["init", "-q"], ["add", "-A"], [*as_somebody, "commit", "-qm", "a kernel"]):
        subprocess.run(["git", *words], cwd=owners, check=True)
    return owners


def _ruled(work: Path) -> str:
    return next(path for path in work.rglob("out/gate.md") if "artifacts" not in path.parts).read_text()


@pytest.mark.nightly
@pytest.mark.parametrize("flavour", [GITHUB, GITLAB, JENKINS])
def test_a_change_is_held_against_its_base_in_each_flavour(gated: Path, tmp_path: Path, flavour: str) -> None:
    file = dict(zip(FILE, GATES, strict=True))[flavour]
    (gated / "notes.md").write_text("A change that leaves the kernel as it is.\n")
    done = _run(gated, tmp_path / "same", flavour, file)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "**green: 1 no slower; on 1 of 1 compared base and head are the same build" in _ruled(tmp_path / "same")
    _break(gated)
    done = _run(gated, tmp_path / "wrong", flavour, file)
    assert done.returncode == 1, done.stdout + done.stderr
    assert "**red: 1 not verified" in _ruled(tmp_path / "wrong")


def test_what_cannot_be_run_here_is_said_in_one_line(owners: Path, tmp_path: Path) -> None:
    done = _run(owners, tmp_path / "work", "github", "nothing.yml")
    assert done.returncode == 2
    assert "nothing.yml: no such file" in done.stderr
    odd = "on: push\njobs:\n  a:\n    runs-on: x\n    if: ${{ hashFiles('x') }}\n    steps: []\n"
    (owners / "odd.yml").write_text(odd)
    done = _run(owners, tmp_path / "odd", "github", "odd.yml")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith(f"{owners}/odd.yml: no expression of GitHub's that is known here: ")


@pytest.fixture
def bitgate(tmp_path: Path) -> Path:
    """This checkout with one small suite, as a first commit: what is changed since another one may turn nothing red."""
    folder = tmp_path / "bitgate"
    subprocess.run(["git", "clone", "-q", str(CHECKOUT), str(folder)], check=True)
    for suite in (folder / "suites").iterdir():
        if (suite / "cases.toml").is_file() and suite.name != "reduction":
            shutil.rmtree(suite)
    shutil.rmtree(folder / ".git")
    author = ("-c", "user.name=a", "-c", "user.email=a@example.com")
    for words in (["init", "-q"], ["add", "-A"], [*author, "commit", "-q", "-m", "One small suite"]):
        subprocess.run(["git", *words], cwd=folder, check=True)
    return folder


@pytest.mark.nightly
@pytest.mark.parametrize("flavour", [GITHUB, GITLAB, JENKINS])
def test_bitgates_own_workflow_is_green_on_a_bare_machine(bitgate: Path, tmp_path: Path, flavour: str) -> None:
    work = tmp_path / "work"
    only = ["--only", "tier"] if flavour == "github" else []
    done = _run(bitgate, work, flavour, *only, "--bare")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "GREEN" in _merged(work)


MANY = "".join(
    f"""
[[case]]
name = "k = {k}"
why = "every cell of dx is the sum over K"
pass = "bwd_data"
dtypes = "f32"
layouts = ["nhwgc"]
shape = "g1n2k{k}c3_y1x1_h5x7"
tier = "smoke"
"""
    for k in range(1, 26)
)
NIGHTLY = """
on: schedule
permissions:
  contents: read
jobs:
  kernels:
    uses: OWNER/bitgate/.github/workflows/tier.yml@0123456789abcdef0123456789abcdef01234567
    with:
      tier: smoke
      shards: "2"
      history: {history}
      notify: {notify}
"""


def _commit(folder: Path, message: str) -> None:
    for words in (["add", "-A"], ["-c", "user.name=ann", "-c", "user.email=ann@lab", "commit", "-qm", message]):
        subprocess.run(["git", *words], cwd=folder, check=True)


@pytest.fixture
def twenty_five(owners: Path) -> Path:
    """The repository with 25 cases of a row each, in a commit."""
    (owners / "suites" / "mine" / "cases.toml").write_text(MANY)
    subprocess.run(["git", "init", "-q"], cwd=owners, check=True)
    _commit(owners, "a kernel")
    return owners


@pytest.mark.nightly
def test_a_pull_request_runs_the_cases_that_it_can_change(twenty_five: Path, tmp_path: Path) -> None:
    """A row of 25 is 4 %; a document is nothing, and green."""
    table = twenty_five / "suites" / "mine" / "cases.toml"
    table.write_text(table.read_text().replace("k7c3_y1x1_h5x7", "k7c3_y1x1_h5x8"))
    _commit(twenty_five, "a longer row")
    done = _run(twenty_five, tmp_path / "row", "github", FILE["github"])
    assert done.returncode == 0, done.stdout + done.stderr
    assert "GREEN: 1 verdicts on host" in _merged(tmp_path / "row")
    assert done.stdout.count("bitgate run --tier") == 1
    (twenty_five / "notes.md").write_text("Words.\n")
    _commit(twenty_five, "words")
    done = _run(twenty_five, tmp_path / "words", "github", FILE["github"])
    assert done.returncode == 0, done.stdout + done.stderr
    assert "nothing to run: no change since" in done.stdout
    assert "bitgate run --tier" not in done.stdout


@pytest.mark.nightly
def test_a_night_tells_a_planted_red_from_a_known_one(twenty_five: Path, tmp_path: Path) -> None:
    posted, server = _webhook()
    place = {"history": str(tmp_path / "nights.sqlite"), "notify": f"http://127.0.0.1:{server.server_port}/"}
    (twenty_five / ".github" / "workflows" / "night.yml").write_text(NIGHTLY.format(**place))
    kernel = twenty_five / "kernels" / "mine" / "pointwise.hip.cpp"
    right = kernel.read_text()
    for night, sizes in enumerate(("5", "5 || shape.k == 9")):
        kernel.write_text(right.replace("at_y.column < shape.k", f"at_y.column < shape.k - (shape.k == {sizes})"))
        _commit(twenty_five, f"night {night}")
        done = _run(twenty_five, tmp_path / f"n{night}", "github", ".github/workflows/night.yml", "--event=schedule")
        assert done.returncode == 1, done.stdout + done.stderr
    server.shutdown()
    print(done.stdout, done.stderr)
    summary = _merged(tmp_path / "n1")
    assert "RED: 2 of 25 verdicts on host" in summary
    assert "1 new, 1 known, 0 fixed; against 1 runs of" in summary
    new, known = (line for line in summary.splitlines() if line.startswith(("- **new**", "- **known**")))
    assert new.startswith("- **new**: 1 x MISMATCH")
    assert known.startswith("- **known**: 1 x MISMATCH")
    assert "the last 1 of 9 channels of K are missing" in new
    assert "the last 1 of 5 channels of K are missing" in known
    said = done.stdout + done.stderr
    new, known = (line for line in said.splitlines() if line.startswith(("new ", "known ")))
    assert new.startswith("new    1 x MISMATCH")
    assert known.startswith("known  1 x MISMATCH")
    assert "k9c3" in said[said.index(new) : said.index(known)]
    assert [one["text"].split("; ")[-2] for one in posted] == [
        "1 new, 0 known, 0 fixed (1 of cases never seen before)",
        "1 new, 1 known, 0 fixed",
    ]


def _webhook() -> tuple[list[dict[str, str]], HTTPServer]:
    """A chat's server that keeps what it is sent."""
    posted: list[dict[str, str]] = []

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            posted.append(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
            self.send_response(200)
            self.end_headers()

    server = HTTPServer(("127.0.0.1", 0), Handler)
    Thread(target=server.serve_forever, daemon=True).start()
    return posted, server
