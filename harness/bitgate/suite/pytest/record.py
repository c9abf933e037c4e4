"""The record of a run: begun once, kept or put aside, and verdicts on cases that could not speak for themselves."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable
from dataclasses import replace

import pytest

from bitgate.core.errors import UsageError
from bitgate.kernel.build.errors import BuildError
from bitgate.results.blackbox import deaths, left_behind, remember_deaths
from bitgate.results.record import UNKNOWN, Key, Outcome, RecordError, Verdict, append, read, verdict_on
from bitgate.suite.judging_code import digest_of_code
from bitgate.suite.planning import row_of
from bitgate.suite.pytest.lock import lock_folder
from bitgate.suite.pytest.run import PLAN, PREVIOUS, Done, TestRun, as_pytest_error, progress
from bitgate.verify.planned import PlannedCase

RESUME = "resume.json"
JUDGED_BY = "judged_by.txt"
"""The hash of the code that the record's verdicts rest on."""
FATAL = 2
"""So many runs that died while a test was under way say that it ends them; one may have been ended from outside."""
DIED = "its process died in two runs before this one"


def begin(run: TestRun) -> None:
    """Write the plan, put an earlier record aside (a resumed run keeps it), and build what the cases will load, unless
    that is left for later."""
    if run.resume:
        _check_same_work(run)
    with as_pytest_error():
        claim(run)
        if not run.resume and run.results.exists():
            run.results.replace(run.folder / PREVIOUS)
        run.results.touch()
        (run.folder / JUDGED_BY).write_text(digest_of_code(run.project))
        if run.plan:
            run.plan.write(run.folder / PLAN)
        needed = {item.key.kernel for item in run.plan.cases} if run.plan else set()
        libraries = build(run, needed) if run.builds_ahead or run.resume else {}
    times = deaths(run.folder) if run.resume else Counter[str]()
    for name in (name for name, count in times.items() if count >= FATAL):
        if test := run.tests.get(name):
            verdict = stand_in(run, test, name, Outcome.CRASHED, DIED)
            library = libraries.get(verdict.key.kernel, "")
            append(run.results, replace(verdict, fingerprint=verdict.fingerprint | {"build": library or UNKNOWN}))
    with as_pytest_error():
        remember_deaths(run.folder, Counter({name: count for name, count in times.items() if count < FATAL}))
    for box in left_behind(run.folder):
        box.remove()


def claim(run: TestRun) -> None:
    """Reserve the run's folder: no other run writes into it from now on."""
    if run.lock is None:
        run.lock = lock_folder(run.folder)


def _check_same_work(run: TestRun) -> None:
    """Resuming with other options, seed or schedule would mix two runs into one report."""
    keys = {item.test: item.key for item in run.earlier}
    for test_id, test in run.tests.items():
        if keys.get(test_id, test.key) != test.key:
            raise pytest.UsageError(
                f"--resume: {run.folder} holds a run with other options, seed or schedule ({test_id} differs);"
                " repeat them, or start afresh without --resume"
            )


def build(run: TestRun, names: Iterable[str], group: str = "") -> dict[str, str]:
    """Build the families that are named, or one ``group`` of them, with all cores, before workers need them; for a run
    that resumes another their hashes, as in fingerprints."""
    from bitgate.kernel.build.builder import Builder
    from bitgate.kernel.cache.content import content_of
    from bitgate.runtime.tools_abi import family as tools_family

    families = [run.setting.families[name] for name in sorted(set(names)) if name in run.setting.families]
    families = [family.only(group) if group else family for family in families if family.is_built]
    if not families:
        return {}
    if run.target.platform != "host":
        # What cases are filled, compared and verified with on a GPU.
        families += [tools_family(), *(f for f in run.setting.families.values() if f.verifies and f not in families)]
    arch = None if run.target.platform == "host" else run.target.name
    builder = Builder(run.target.platform, progress, arch=arch)
    if not run.resume and builder.is_built(*families):
        return {}
    builder.ahead(families)
    builder.runtime()
    builder.native()
    keys: dict[str, str] = {}
    for family in families:
        try:
            keys[family.name] = content_of(builder.family(family))
        except BuildError as error:
            # The pipeline meets it again, and gives each of the family's cases the verdict BUILD_FAILED.
            progress(f"{family.name}: {error}")
    return keys


def settled(run: TestRun) -> Done:
    """Test and key of what a resumed run leaves alone: what was green with the libraries of today, and what was under
    way when two runs died, since it would end the next one too. A record of other judging code is put aside. Raises
    UsageError for an unreadable record."""
    _put_aside_what_other_code_judged(run)
    try:
        recorded = list(read(run.results)) if run.results.is_file() else []
    except RecordError as error:
        raise UsageError(f"--resume: {error}; start afresh without --resume") from None
    _drop_cut_line(run)
    libraries = build(run, {verdict.key.kernel for verdict in recorded})
    last = {(v.test, v.key): v for v in recorded}.values()
    same = [v for v in last if v.fingerprint.get("build") == libraries.get(v.key.kernel, UNKNOWN)]
    # What a known bug excused yesterday may have expired since, or been fixed.
    over = {(v.test, v.key) for v in same if v.reason == DIED or (v.green and v.outcome is not Outcome.KNOWN_BUG)}
    times = deaths(run.folder)
    fatal = {(item.test, item.key) for item in run.earlier if times[item.test] >= FATAL}
    return frozenset(over | fatal)


def _put_aside_what_other_code_judged(run: TestRun) -> None:
    if not run.results.is_file() or not run.results.stat().st_size:
        return
    mark = run.folder / JUDGED_BY
    if not mark.is_file() or mark.read_text() != digest_of_code(run.project):
        run.results.replace(run.folder / PREVIOUS)
        progress(f"--resume: suites, operations or bitgate have changed since: all runs again; {PREVIOUS} has what was")


def _drop_cut_line(run: TestRun) -> None:
    """Drop the last line if a crash has cut it; what is appended next must not continue it."""
    if not run.results.is_file():
        return
    data = run.results.read_bytes()
    if data and not data.endswith(b"\n"):
        with run.results.open("r+b") as stream:
            stream.truncate(data.rfind(b"\n") + 1)


def hand_down(run: TestRun) -> None:
    """Leave what is settled for the workers: the record grows while they run, and a replaced one must collect as the
    first did."""
    run.folder.mkdir(parents=True, exist_ok=True)
    document = [[test, key.fields()] for test, key in sorted(run.done, key=str)]
    (run.folder / RESUME).write_text(json.dumps(document))


def handed_down(run: TestRun) -> Done:
    document = json.loads((run.folder / RESUME).read_text())
    return frozenset((test, Key.of(fields)) for test, fields in document)


def stand_in(run: TestRun, test: PlannedCase, node_id: str, outcome: Outcome, reason: str) -> Verdict:
    """Return a verdict on a case without one: it hung, its process died, or no kernel takes it."""
    from bitgate.verify.fingerprint import fingerprint
    from bitgate.verify.planned import repro_line

    suites = row_of(test).origin.path.parent
    places = (suites,) if test.no_kernel else (test.kernel.family.folder, suites)
    verdict = verdict_on(
        test,
        run.target,
        outcome,
        reason,
        repro="" if test.no_kernel else repro_line(test, run.project.added),
        fingerprint=fingerprint(run.target, places),
    )
    return run.placed(verdict, test, node_id)
