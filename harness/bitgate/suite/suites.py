"""All suites of a folder as one plan, from their tables alone: what ``bitgate cases`` shows and CI shards."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from datetime import datetime, timezone
from pathlib import Path

from bitgate.core.errors import UsageError
from bitgate.results.plan import Plan, repeated
from bitgate.suite.planning import Setting, for_table, line_of, plan_rows, row_of
from bitgate.suite.table import load_set, set_names
from bitgate.verify.planned import PlannedCase


def plan_suites(setting: Setting, tier: str, tables: Iterable[Path]) -> Plan:
    """The plan of every set of these case tables. Raises UsageError for a bad table, and for an id that two sets or
    suites plan."""
    tests = planned_tests(setting, tables)
    if twice := repeated(test.id for test in tests):
        rows = [str(row_of(test).origin) for test in tests if test.id == twice[0]]
        raise UsageError(f"{twice[0]} is planned by {' and by '.join(rows)}; an id stands for one case only")
    now = datetime.now(timezone.utc).isoformat(timespec="seconds")
    return Plan(tier, setting.target, tuple(line_of(test) for test in tests), now)


def with_tables(setting: Setting, tables: Iterable[Path]) -> Setting:
    """The setting with every family that one of the tables loads."""
    known = dict(setting.families)
    for table in tables:
        known |= for_table(replace(setting, families=known), table).families
    return replace(setting, families=known)


def planned_tests(setting: Setting, tables: Iterable[Path]) -> list[PlannedCase]:
    """Every test of every set of these tables. Raises UsageError for a bad table."""
    return [
        test
        for table in tables
        for name in set_names(table)
        for test in plan_rows(load_set(table, name), for_table(setting, table), suite=table.parent.name)
    ]
