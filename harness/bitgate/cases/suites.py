"""All suites of a folder as one plan, from their tables alone: what ``bitgate cases`` shows and CI shards."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime, timezone
from pathlib import Path

from bitgate import rooms
from bitgate.cases.plan import Plan, repeated
from bitgate.cases.planning import PlannedTest, Setting, for_table, plan_rows
from bitgate.cases.table import TABLE, load_set, set_names
from bitgate.errors import UsageError


def plan_suites(setting: Setting, tier: str, folder: Path | None = None) -> Plan:
    """The plan of every set of every suite below ``folder`` (default: bitgate's suites). Raises UsageError for a bad
    table, and for an id that two sets or suites plan."""
    tests = planned_tests(setting, folder or rooms.room("suites"))
    if twice := repeated(test.id for test in tests):
        rows = [str(test.row.origin) for test in tests if test.id == twice[0]]
        raise UsageError(f"{twice[0]} is planned by {' and by '.join(rows)}; an id stands for one case only")
    now = datetime.now(timezone.utc).isoformat(timespec="seconds")
    return Plan(tier, setting.target, tuple(test.item() for test in tests), now)


def with_tables(setting: Setting, folder: Path) -> Setting:
    """The setting with every family that a table below the folder loads."""
    known = dict(setting.families)
    for table in sorted(folder.glob(f"*/{TABLE}")):
        known |= for_table(replace(setting, families=known), table).families
    return replace(setting, families=known)


def planned_tests(setting: Setting, folder: Path) -> list[PlannedTest]:
    """Every test of every suite below a folder. Raises UsageError for a bad table."""
    tables = sorted(folder.glob(f"*/{TABLE}"))
    if not tables:
        raise UsageError(f"{folder}: holds no suites; a suite is a folder with a {TABLE} and test modules")
    return [
        test
        for table in tables
        for name in set_names(table)
        for test in plan_rows(load_set(table, name), for_table(setting, table), suite=table.parent.name)
    ]
