"""A verdict says on what machine it ran, by what compiler, of whose commit; and what its case took, without builds."""

from __future__ import annotations

import platform
import shutil
import subprocess
import time
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from bitgate.core import git as repository
from bitgate.core import paths
from bitgate.core.project import ours
from bitgate.kernel.build.builder import Builder
from bitgate.kernel.cache.content import content_of
from bitgate.kernel.resolved import kernel_called
from bitgate.model import parse_case_id
from bitgate.results.record import FINGERPRINT, UNKNOWN, Outcome, Verdict
from bitgate.runtime.targets import Target
from bitgate.verify import fingerprint as fingerprints
from bitgate.verify import session as sessions
from bitgate.verify.fingerprint import fingerprint, nvidia_driver
from bitgate.verify.laws import judge_by_laws
from bitgate.verify.pipeline import verify
from bitgate.verify.planned import PlannedCase
from bitgate.verify.process import CaseProcess, Opening
from bitgate.verify.session import Session

UNHEALTHY = Path(__file__).parent / "unhealthy"
CASE = "fwd_f32_nhwgc_g1n1k8c4_y3_h6_p1"


def git(folder: Path, *arguments: str) -> str:
    names = ["-c", "user.name=a", "-c", "user.email=a@b"]
    done = subprocess.run(["git", *names, *arguments], cwd=folder, capture_output=True, text=True, check=True)
    return done.stdout.strip()


def planned(session: Session, illness: str = "none", **more) -> PlannedCase:
    kernel = kernel_called(session.families, "unhealthy", "fwd_f32", [("illness", illness)])
    return PlannedCase(parse_case_id(CASE), kernel, **more)


def unhealthy(session: Session, illness: str = "none", **more) -> Verdict:
    return verify(planned(session, illness, **more), session)


@pytest.fixture(scope="module")
def session() -> Session:
    return Session("host", project=ours().loading([UNHEALTHY / "declaration.py"]))


@pytest.fixture(autouse=True)
def forgetful() -> None:
    repository.commit_of.cache_clear()
    repository._checkout_status.cache_clear()
    fingerprints._commit.cache_clear()


def test_every_verdict_tells_all_of_it(session: Session) -> None:
    passed, crashed = unhealthy(session), unhealthy(session, "fail")
    refused = unhealthy(session, refused="mood")
    law = judge_by_laws(planned(session), session)
    for verdict in (passed, crashed, refused, law):
        assert tuple(verdict.fingerprint) == FINGERPRINT
        assert all(verdict.fingerprint.values())
    assert passed.fingerprint["host"] == platform.node()
    assert platform.release() in passed.fingerprint["os"]
    assert passed.fingerprint["compiler"].startswith(Builder("host").compiler.name + " ")
    assert "-ffp-contract=off" in passed.fingerprint["compiler"]
    assert passed.fingerprint["runtime"] == "HIP 7.0.0 on bitgate's host runtime"
    assert (passed.fingerprint["gpu"], passed.fingerprint["driver"]) == ("none", "none")
    assert [verdict.fingerprint["guards"] for verdict in (passed, refused)] == ["both", "none"]


def test_a_kernel_that_does_not_build_has_no_build(session: Session, tmp_path: Path) -> None:
    broken = tmp_path / "kernel.cpp"
    broken.write_text("#error no\n")
    source = next(path for path in UNHEALTHY.iterdir() if path.suffix == ".cpp")
    verdict = unhealthy(
        Session("host", project=ours().loading([UNHEALTHY / "declaration.py"]), overlay={str(source): broken})
    )
    assert verdict.outcome is Outcome.BUILD_FAILED
    assert tuple(verdict.fingerprint) == FINGERPRINT
    assert verdict.fingerprint["build"] == UNKNOWN


@pytest.fixture
def theirs(tmp_path: Path) -> Path:
    """A user's repository with a kernel, everything committed."""
    folder = tmp_path / "theirs" / "kernel"
    shutil.copytree(UNHEALTHY, folder, ignore=shutil.ignore_patterns("__pycache__"))
    git(folder.parent, "init", "-q")
    git(folder.parent, "add", "-A")
    git(folder.parent, "commit", "-qm", "one")
    return folder


def test_the_commit_is_the_users_and_says_if_it_is_not_what_ran(theirs: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    places = (theirs, paths.data_folder("suites"))
    target = Target("host", "host", "cpu", "CPU")
    head = git(theirs, "rev-parse", "HEAD")
    monkeypatch.setenv("GIT_DIR", str(paths.root() / ".git"))  # as in a hook

    def commit() -> str:
        repository.commit_of.cache_clear()
        repository._checkout_status.cache_clear()
        fingerprints._commit.cache_clear()
        return fingerprints.fingerprint(target, places)["commit"]

    assert commit() == head
    (theirs.parent / "unrelated").write_text("not known to git, and beside the kernel")
    assert commit() == head
    (theirs / "new.hpp").write_text("not known to git, and in the kernel")
    assert commit() == f"{head}-dirty"
    (theirs / "new.hpp").unlink()
    (theirs / "declaration.py").open("a").write("\n")
    assert commit() == f"{head}-dirty"


def test_outside_of_a_repository_the_suites_speak_else_nobody(tmp_path: Path, theirs: Path) -> None:
    loose = tmp_path / "loose"
    loose.mkdir()
    target = Target("host", "host", "cpu", "CPU")
    assert fingerprints.fingerprint(target, (loose, theirs))["commit"] == git(theirs, "rev-parse", "HEAD")
    assert fingerprints.fingerprint(target, (paths.data_folder("kernels"), theirs))["commit"] == git(
        theirs, "rev-parse", "HEAD"
    )
    if not repository.commit_of(tmp_path.parent).strip(UNKNOWN):
        assert fingerprints.fingerprint(target, (loose,))["commit"] == UNKNOWN


def test_runtimes_of_gpus_are_named_as_their_users_know_them() -> None:
    def runtime(platform_name: str, version: int) -> str:
        hip = SimpleNamespace(hipRuntimeGetVersion=lambda: (0, version))
        device: Any = SimpleNamespace(hip=hip, target=Target("t", platform_name, "hardware", "GPU"))
        return fingerprints.runtime_of(device)

    assert runtime("nvidia", 12040).startswith("CUDA 12.4,")
    assert runtime("amd", 70125424).endswith("HIP 7.1.25424")
    failing: Any = SimpleNamespace(hip=SimpleNamespace(hipRuntimeGetVersion=lambda: (1, 0)))
    assert fingerprints.runtime_of(failing) == UNKNOWN


def test_no_case_is_charged_for_a_build(monkeypatch: pytest.MonkeyPatch) -> None:
    """The first case of a family carried the hash of its library, and whatever was built on its way."""
    late = 0.0
    family = Builder.family

    def slowly(what):
        def call(*arguments, **named):
            nonlocal late
            late += 1000.0
            return what(*arguments, **named)

        return call

    monkeypatch.setattr(sessions, "perf_counter", lambda: time.perf_counter() + late)
    monkeypatch.setattr(Builder, "family", slowly(family))
    monkeypatch.setattr(sessions, "content_of", slowly(content_of))
    monkeypatch.setattr(sessions, "fingerprint", slowly(fingerprint))
    session = Session("host", project=ours().loading([UNHEALTHY / "declaration.py"]))
    case = planned(session)
    for verdict in (judge_by_laws(case, session), verify(case, session), unhealthy(session, "wrong")):
        assert verdict.seconds["total"] < 1000
    assert late >= 3000


def test_a_process_that_died_leaves_a_fingerprint_all_the_same(session: Session) -> None:
    aborting = planned(session, "abort")
    with CaseProcess(Opening("host", ours().loading([UNHEALTHY / "declaration.py"]))) as process:
        verdict = process.verify(aborting)
    assert verdict.outcome is Outcome.CRASHED
    assert tuple(verdict.fingerprint) == FINGERPRINT
    assert verdict.fingerprint["host"] == platform.node()


def test_a_red_line_has_a_view_and_a_green_one_has_none(session: Session) -> None:
    wrong, right = unhealthy(session, "wrong"), unhealthy(session)
    assert wrong.view["parts"] == {"other": 1}
    assert wrong.view["lengths"] == [1, 1, 8, 6, 6]
    assert right.view == {}
    assert unhealthy(session, "idle").view["parts"] == {"poison": 288}


@pytest.mark.parametrize(
    ("text", "version"),
    [
        ("NVRM version: NVIDIA UNIX x86_64 Kernel Module  535.104.05  Sat Aug 19 01:15:15 UTC 2023\n", "535.104.05"),
        ("NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  580.159.03  Release Build\n", "580.159.03"),
        ("", "unknown"),
    ],
)
def test_the_driver_is_not_taken_for_the_machine(text: str, version: str) -> None:
    assert nvidia_driver(text) == version
