"""Which entries of a file changed: rows, digests, known bugs, durations."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from bitgate.lab.ci import select_entries as entries
from bitgate.lab.ci.select_changes import FileChange

TABLE = """
[defaults]
dtypes = "f16"

[[case]]
name = "first"
shape = "b1m1n1k1"
why = "one"

[[case]]
name = "second"
shape = "b1m2n2k2"
why = "two"

[[interface]]
include = "#case"
split_k = 2
"""


def change(folder: Path, before: str | None, now: str | None) -> FileChange:
    path = folder / "file"
    path.unlink(missing_ok=True)
    if now is not None:
        path.write_text(now)
    return FileChange(path, None if before is None else before.encode())


@pytest.mark.parametrize(
    ("edit", "rows"),
    [
        (("m2n2k2", "m2n2k3"), {("case", 2)}),
        (("split_k = 2", "split_k = 3"), {("interface", 1)}),
        (('dtypes = "f16"', 'dtypes = "f32"'), {("case", 1), ("case", 2)}),
        (('why = "one"', 'why = "words are for people"'), set()),
        (('name = "first"', 'name = "renamed"'), set()),
        (('[[case]]\nname = "first"\nshape = "b1m1n1k1"\nwhy = "one"\n', ""), set()),
        (("[[interface]]", '[[case]]\nshape = "b9m9n9k9"\nwhy = "new"\n\n[[interface]]'), {("case", 3)}),
        (("# ", "# "), set()),
    ],
    ids=["a row", "an including row", "defaults", "why", "name", "deleted", "new", "nothing"],
)
def test_a_table_is_compared_row_by_row(tmp_path: Path, edit: tuple[str, str], rows: set[tuple[str, int]]) -> None:
    assert entries.rows(change(tmp_path, TABLE, TABLE.replace(*edit))) == frozenset(rows)


def test_rows_that_moved_are_what_they_were(tmp_path: Path) -> None:
    first, second = TABLE.index('[[case]]\nname = "first"'), TABLE.index('[[case]]\nname = "second"')
    end = TABLE.index("[[interface]]")
    turned = TABLE[:first] + TABLE[second:end] + TABLE[first:second] + TABLE[end:]
    assert turned != TABLE
    assert entries.rows(change(tmp_path, TABLE, turned)) == frozenset()


@pytest.mark.parametrize(
    "before", [None, "not TOML [", "case = 1\ndefaults = 3", 'load = ["mine.py"]\n' + TABLE], ids=repr
)
def test_a_table_without_comparable_rows_changed_in_all(tmp_path: Path, before: str | None) -> None:
    assert entries.rows(change(tmp_path, before, TABLE)) is entries.ALL


def test_of_a_table_that_is_gone_no_row_is_left(tmp_path: Path) -> None:
    assert entries.rows(change(tmp_path, TABLE, None)) == frozenset()


def digests(generator: int = 1, **stored: str) -> str:
    kept = {f"{case} seed=0 in=4": [digest, 1, 1.0, 1.0, ""] for case, digest in stored.items()}
    return json.dumps({"generator": generator, "digests": kept})


def test_a_new_changed_or_removed_digest_names_its_problem(tmp_path: Path) -> None:
    then, now = digests(a="1", b="2", c="3"), digests(a="1", b="9", d="4")
    assert entries.digests(change(tmp_path, then, now)) == frozenset({"b", "c", "d"})
    assert entries.digests(change(tmp_path, then, None)) == frozenset({"a", "b", "c"})
    assert entries.digests(change(tmp_path, then, digests(2, a="1"))) is entries.ALL
    assert entries.digests(change(tmp_path, "[]", "{")) is entries.ALL


def ledger(*kernels: str) -> str:
    return "".join(f'[[known_bug]]\nkernel = "{kernel}"\nexpires = 2100-01-01\n' for kernel in kernels)


def test_added_and_removed_ledger_entries_name_their_kernels(tmp_path: Path) -> None:
    assert entries.known_bugs(change(tmp_path, ledger("a*", "b"), ledger("b", "c.f16"))) == frozenset({"a*", "c.f16"})
    assert entries.known_bugs(change(tmp_path, None, ledger("a*"))) == frozenset({"a*"})
    assert entries.known_bugs(change(tmp_path, ledger("a"), "[[known_bug]]\ncase = 1\n")) is entries.ALL
    assert entries.known_bugs(change(tmp_path, "no ledger", ledger("a"))) is entries.ALL


def timed(seconds: float, base: float) -> str:
    held = {"seconds": {"case__f_i__exact": [seconds], "other": [1.0]}, "paces": {"f": [[base, 1e-9]], "g": [[1, 1]]}}
    return json.dumps({"machines": {"this": held}})


def test_seconds_that_are_others_name_their_cases_and_families(tmp_path: Path) -> None:
    assert entries.durations(change(tmp_path, timed(1, 2), timed(3, 2))) == (
        frozenset({"case__f_i__exact"}),
        frozenset(),
    )
    assert entries.durations(change(tmp_path, timed(1, 2), timed(1, 3))) == (frozenset(), frozenset({"f"}))
    assert entries.durations(change(tmp_path, timed(1, 2), '{"machines": [1]}')) is entries.ALL
