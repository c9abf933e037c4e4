"""All suites of a folder as one plan, from their tables alone: what ``bitgate cases`` shows and CI shards."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from datetime import datetime, timezone
from pathlib import Path

from bitgate.core.choices import SMOKE
from bitgate.core.errors import UsageError
from bitgate.core.project import Project
from bitgate.core.targets import target_id
from bitgate.kernel import registry
from bitgate.kernel.loading import loaded_names
from bitgate.results.plan import Plan, repeated
from bitgate.runtime import targets
from bitgate.suite import durations
from bitgate.suite.planning import Setting, check_setting, for_table, line_of, plan_rows, row_of
from bitgate.suite.table import load_set, set_names
from bitgate.verify.planned import PlannedCase


def plan_suites(setting: Setting, tier: str, tables: Iterable[Path]) -> Plan:
    """Plan every set of these case tables. Raises UsageError for a bad table, and for an id that is planned twice."""
    tests = planned_tests(setting, tables)
    if twice := repeated(test.id for test in tests):
        rows = [str(row_of(test).origin) for test in tests if test.id == twice[0]]
        raise UsageError(f"{twice[0]} is planned by {' and by '.join(rows)}; an id names one case only")
    now = datetime.now(timezone.utc).isoformat(timespec="seconds")
    return Plan(tier, setting.target, tuple(line_of(test) for test in tests), now)


def with_tables(setting: Setting, tables: Iterable[Path]) -> Setting:
    """Return the setting with every family that one of the tables loads."""
    known = dict(setting.families)
    for table in tables:
        known |= for_table(replace(setting, families=known), table).families
    return replace(setting, families=known)


def planned_tests(setting: Setting, tables: Iterable[Path]) -> list[PlannedCase]:
    """Return every test of every set of these tables. Raises UsageError for a bad table."""
    return [
        test
        for table in tables
        for name in set_names(table)
        for test in plan_rows(
            load_set(table, name, setting.smoke_on), for_table(setting, table), suite=table.parent.name
        )
    ]


def make_plan(tier: str, target: str, project: Project, kernel: str = "", *, of_all: bool = False) -> Plan:
    """Plan all tables of a project's suites: of what it runs on, unless it is to be ``of_all`` families.

    UsageError for an unknown tier, target or kernel, or a bad table.
    """
    project.check_tier(tier)
    wanted = target_id(target or targets.best().name)
    name = wanted.name
    here = next((one for one in targets.present() if one.name == name), None)
    setting = Setting(
        target=name,
        platform=wanted.platform,
        families=registry.families(project),
        kernel=kernel,
        tier=SMOKE if tier == SMOKE else "",
        durations=durations.load(name, durations.machine_of(here) if here else "", project.shelves),
        loaded=frozenset() if of_all else loaded_names(project.runs_on),
    )
    check_setting(with_tables(setting, project.tables()))
    return plan_suites(setting, tier, project.tables())
