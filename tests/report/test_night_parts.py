"""A night that is merged part by part: its files below a size, its groups, and the memory that it takes."""

from __future__ import annotations

import subprocess
import sys
from array import array
from collections import Counter
from collections.abc import Callable
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st
from junitparser import JUnitXml

from bitgate.core import paths
from bitgate.results.record import Outcome, Verdict
from bitgate.results.report.facts import groups
from bitgate.results.report.junit import suites_of
from bitgate.results.report.junit_dialect import JUnitDialect
from bitgate.results.report.junit_parts import JUnitParts
from bitgate.results.report.ledger import AttemptEntry, Ledger

Make = Callable[..., Verdict]


def test_a_document_is_split_below_a_size(verdict: Make, tmp_path: Path) -> None:
    (tmp_path / "junit-9.xml").write_text("of a night before")
    limit = 40_000
    small = JUnitDialect(limit=limit)
    whole = JUnitParts(tmp_path, dialect=small)
    for target in ("host", "gfx942"):
        parts = JUnitParts(tmp_path / target, whole, small)
        for shard in range(5):
            cases = [verdict(Outcome.MISMATCH, case=f"c{shard}_{number}", target=target) for number in range(20)]
            for suite in suites_of(Ledger(target, "smoke", tuple(map(AttemptEntry, cases)))):
                parts.add(suite)
        parts.close()
    whole.close()
    for folder in (tmp_path, tmp_path / "host"):
        files = sorted(folder.glob("junit*.xml"))
        assert {"junit.xml", "junit-2.xml"} <= {file.name for file in files}
        assert max(file.stat().st_size for file in files) < 1.25 * limit
    documents = [JUnitXml.fromfile(str(file)) for file in tmp_path.glob("junit*.xml")]
    named = Counter((suite.name, case.name) for document in documents for suite in document for case in suite)
    assert (len(named), sum(named.values())) == (200, 200)
    assert sum(document.failures for document in documents) == 200


def test_shards_of_a_target_are_one_suite(verdict: Make, tmp_path: Path) -> None:
    parts = JUnitParts(tmp_path)
    for number in (1, 2):
        one = verdict(case=f"c{number}", fingerprint={"build": f"b{number}"})
        for part in suites_of(Ledger("host", "smoke", (AttemptEntry(one),))):
            parts.add(part)
    parts.close()
    (merged,) = JUnitXml.fromfile(str(tmp_path / "junit.xml"))
    assert merged.tests == 2
    assert {one.value for one in merged.properties() if one.name == "build.digest"} == {"b1, b2"}


@given(st.lists(st.frozensets(st.integers(0, 12), max_size=4), max_size=8))
def test_what_shares_a_hash_is_one_group(sets: list[frozenset[int]]) -> None:
    """Checked by what the groups have to be: apart from each other, and connected within."""
    found = groups([array("Q", sorted(one)) for one in sets])
    assert sorted(number for group in found for number in group) == list(range(len(sets)))
    for group in found:
        mine = frozenset().union(*(sets[number] for number in group))
        assert not any(mine & sets[number] for number in range(len(sets)) if number not in group)
        reached, values = {group[0]}, set(sets[group[0]])
        while more := {number for number in group if number not in reached and values & sets[number]}:
            reached |= more
            values |= frozenset().union(*(sets[number] for number in more))
        assert reached == set(group)


def test_a_large_night_keeps_the_promises_of_a_small_one() -> None:
    """12,000 cases of six targets; ``benchmarks/large_night.py`` measures a million."""
    command = [sys.executable, "benchmarks/large_night.py", "--cases=12000", "--shards=4"]
    done = subprocess.run(command, cwd=paths.root(), capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "RED: 24 of 12000 verdicts" in done.stdout
