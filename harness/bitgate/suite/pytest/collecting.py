"""Collection from ``@cases`` to test items: parametrised, marked with tiers, searchable by factor, and planned."""

from __future__ import annotations

import gc
from collections.abc import Callable, Generator, Iterable, Sequence
from dataclasses import replace
from datetime import datetime, timezone
from functools import lru_cache
from random import Random
from typing import Any

import pytest

from bitgate.core.choices import REGRESSION, SMOKE
from bitgate.core.errors import UsageError
from bitgate.core.project import Project
from bitgate.model.fill import DEFAULT
from bitgate.results.plan import Plan, repeated
from bitgate.results.targets_file import tolerated_by
from bitgate.suite.durations import work_of
from bitgate.suite.id_file import check_known
from bitgate.suite.planning import Setting, check_setting, keywords_of, line_of, plan_rows
from bitgate.suite.pytest.ask import MARK, Ask, value_of
from bitgate.suite.pytest.record import begin
from bitgate.suite.pytest.run import TestRun, as_pytest_error
from bitgate.suite.pytest.sharding import own_cases
from bitgate.suite.table import load_set
from bitgate.verify.planned import PlannedCase

PARAMETER = "bitgate_test"

PROBE = 0
"""The rank of a probe among tests."""


class Collecting:
    """Collection in every process; the one that is not a worker writes the plan."""

    def __init__(self, run: TestRun) -> None:
        self.run = run
        self.errors: list[UsageError] = []
        self.planned: dict[tuple[str, str, str], list[PlannedCase]] = {}
        self.every: list[Callable[[], list[PlannedCase]]] = []
        """What each set would plan if nothing were selected."""
        self._told: Project | None = None
        """The project whose tolerated gaps are known."""
        self.hoped: dict[tuple[str, str], None] = {}
        """Loaded family and suite, in order."""
        self._places: dict[object, tuple[str, int | None, str]] = {}
        """Path, line and name of the scope of test functions."""

    def pytest_generate_tests(self, metafunc: pytest.Metafunc) -> None:
        mark = metafunc.definition.get_closest_marker(MARK)
        if mark is None:
            return
        factors: list[str] = []
        tests: list[PlannedCase] = []
        try:
            ask = Ask.of(mark, metafunc.definition.path, self.run.project)
            factors = [name for name in ask.factors if name in metafunc.fixturenames]
            tests = [test for test in self._planned(ask) if ask.has_factors(test.problem)]
        except UsageError as error:
            # Here pytest would wrap it into a traceback; it is reported in one line when all is collected.
            self.errors.append(error)
        metafunc.parametrize(
            (PARAMETER, *factors),
            [
                pytest.param(test, *(value_of(test.problem, name) for name in factors), id=test.id, marks=_marks(test))
                for test in tests
            ],
        )

    def _planned(self, ask: Ask) -> list[PlannedCase]:
        name = (str(ask.table), ask.set_name, ask.suite)
        if name not in self.planned:
            # Values that a test lists are looked for in all rows.
            smoke_on = "" if ask.factors else self.run.setting.smoke_on
            among = None if ask.factors or not self.run.setting.only_selected else self.run.setting.selected_cases
            rows = load_set(ask.table, ask.set_name, smoke_on, among)
            self.run.known_bugs.add_suite(ask.suite, ask.table)
            self.run.known_bugs.add_project(self.run.project)
            if self._told is not self.run.project:  # a table may have loaded something
                self._told = self.run.project
                self.run.tolerated = tolerated_by(self._told, self.run.target.name)
            ask.check(rows)
            setting = self._setting(ask)
            every = replace(setting, only_selected=False)
            self.every.append(lambda: plan_rows(load_set(ask.table, ask.set_name, smoke_on), every, suite=ask.suite))
            planned = plan_rows(rows, setting, suite=ask.suite)
            self.planned[name] = [t for t in planned if not setting.only_selected or t.id in setting.selected]
        return self.planned[name]

    def _setting(self, ask: Ask) -> Setting:
        """Return the setting of the table's rows. Each family that is loaded for them is to take some."""
        setting = self.run.adopt(ask.table)
        if not setting.kernel:
            self.hoped |= {(family, ask.suite): None for family in sorted(setting.loaded)}
        return setting

    def pytest_itemcollected(self, item: pytest.Item) -> None:
        test = planned_test(item)
        if test is not None:
            if item.config.option.keyword:  # else they are not used, and they cost more than the rest of an item
                try:
                    item.extra_keyword_matches.update(keywords_of(test))
                except UsageError as error:
                    self.errors.append(error)
            self.run.tests[item.nodeid] = test
            self._locate(item)

    def _locate(self, item: pytest.Item) -> None:
        """pytest looks for the line of an item's function anew for each of its cases, at some cost."""
        function = getattr(item, "function", None)
        if function not in self._places:
            path, line, words = item.location
            self._places[function] = path, line, words.removesuffix(item.name)
        path, line, words = self._places[function]
        vars(item)["location"] = path, line, words + item.name

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_collection_modifyitems(
        self, config: pytest.Config, items: list[pytest.Item]
    ) -> Generator[None, None, None]:
        if not self.errors:
            with as_pytest_error():
                check_setting(self.run.setting)  # tables may have loaded what it names
                self.run.known_bugs.check_options(self.run.setting.families.values())
        if self.errors:
            raise pytest.UsageError("\n".join(dict.fromkeys(str(error) for error in self.errors)))
        self._check_unique()
        # A kernel glob may leave a test without a case, for which pytest then makes an empty item.
        items[:] = [item for item in items if item.get_closest_marker(MARK) is None or planned_test(item)]
        if not self.run.whole:
            self._keep_selected(config, items)
        yield  # -m and -k take their pick
        whole = self._keep_shard(config, items)
        if self.run.whole:  # what is selected of a planned shard runs again: all of it must be here
            self._keep_selected(config, items)
        items.sort(key=self._rank)
        self._make_plan(items, whole)
        self._shuffle(items)
        if not config.option.keyword:
            self._note_idle_bugs()
        _deselect(config, items, [item for item in items if self._is_done(item)])

    def _check_unique(self) -> None:
        twice = repeated(test.id for test in self.run.tests.values())
        if twice:
            ids = [node_id for node_id, test in self.run.tests.items() if test.id == twice[0]]
            where = list(dict.fromkeys(node_id.partition("[")[0] for node_id in ids))
            how = "give them other rows, @cases(SUITE#SET) or a factor, or check both in one test"
            if len(where) == 1:
                how = "loop over the parameter in the test, which checks a case once"
            planned = f"{' and '.join(where)}{', parametrized' * (len(where) == 1)}"
            raise pytest.UsageError(f"{twice[0]} is planned by {planned}; an id names one test only: {how}")

    def _keep_selected(self, config: pytest.Config, items: list[pytest.Item]) -> None:
        if self.run.select is None:
            return
        with as_pytest_error():
            known = {test.id for test in self.run.tests.values()}
            if not self.run.select <= known:  # named with all known ids
                known = {test.id for plan in self.every for test in plan()}
            check_known(self.run.select, known)
        _deselect(config, items, [item for item in items if not self._is_selected(item)])

    def _is_selected(self, item: pytest.Item) -> bool:
        test = planned_test(item)
        return test is not None and test.id in (self.run.select or ())

    def _keep_shard(self, config: pytest.Config, items: list[pytest.Item]) -> str:
        """Keep this shard's cases; return the hash of the plan that it is a part of, if any."""
        run = self.run
        if run.shard is None and run.whole is None:
            return ""
        tests = {item.nodeid: line_of(test, item.nodeid) for item in items if (test := planned_test(item))}
        with as_pytest_error():
            mine, whole = own_cases(run, tests)
        # A test of no case is the first shard's.
        rest = run.shard is None or run.shard.index == 1
        _deselect(config, items, [i for i in items if not (i.nodeid in mine or (rest and i.nodeid not in tests))])
        return whole

    def _make_plan(self, items: list[pytest.Item], whole: str) -> None:
        run = self.run
        run.repeated = one_of_each_instance(items)
        cases = tuple(line_of(test, item.nodeid) for item in items if (test := planned_test(item)))
        now = datetime.now(timezone.utc).isoformat(timespec="seconds")
        run.plan = Plan(run.tier or REGRESSION, run.target.name, cases, now, str(run.shard or ""), whole)
        taken = {(case.key.kernel, case.suite) for case in cases}
        idle: dict[str, list[str]] = {}
        for family, suite in self.hoped:
            if (family, suite) not in taken:
                idle.setdefault(family, []).append(suite)
        run.notes = tuple(f"{family} took no case of {', '.join(suites)}" for family, suites in idle.items())

    def _note_idle_bugs(self) -> None:
        """Note the entries of ledgers that a whole run of the largest tier has no case of: they guard nothing."""
        run = self.run
        is_part = run.select is not None or run.shard is not None or run.setting.kernel or run.setting.options
        if is_part or run.project.added or run.tier not in ("", run.project.tiers[-1]):
            return
        idle = run.known_bugs.idle(run.tests.values(), run.target.name)
        run.notes += tuple(f"the known bug {bug.ticket} ({bug.origin}) is about no case of this run" for bug in idle)

    def _rank(self, item: pytest.Item) -> int:
        """Return the rank of a test: probes of the platform come first, since a red one stops all others.

        Next come the reference kernels, which others rest on: one library, which soonest shows a fault in a common
        header.
        """
        test = planned_test(item)
        if test is None:
            return 2
        family = test.kernel.family
        return PROBE if family.is_probe else 1 if family.is_reference else 2

    def _shuffle(self, items: list[pytest.Item]) -> None:
        """Put the tests into the order that the seed gives, whatever order they were collected in."""
        if self.run.shuffle is None:
            return
        items.sort(key=lambda item: item.nodeid)
        Random(self.run.shuffle).shuffle(items)
        items.sort(key=lambda item: self._rank(item) != PROBE)
        self.run.notes += (f"the cases ran in the order of --shuffle {self.run.shuffle}",)

    def _is_done(self, item: pytest.Item) -> bool:
        test = planned_test(item)
        return test is not None and (item.nodeid, test.key) in self.run.done

    @pytest.hookimpl(wrapper=True)
    def pytest_collection(self, session: pytest.Session) -> Generator[None, Any, Any]:
        """xdist leaves collecting to its workers; the controller needs the plan too, and builds what they will load."""
        if self.run.is_controller:
            session.perform_collect()
            if session.testsfailed:
                raise session.Interrupted(f"{session.testsfailed} errors during collection")
        result = yield
        if not self.run.is_worker and not session.config.option.collectonly:
            begin(self.run)
        return result

    @pytest.hookimpl(trylast=True)
    def pytest_collection_finish(self) -> None:
        """Exempt collected items from garbage collection: they stay to the end and need no repeated inspection."""
        gc.enable()
        gc.freeze()


def planned_test(item: pytest.Item) -> PlannedCase | None:
    """Return the planned test of an item; None for an ordinary one."""
    callspec = getattr(item, "callspec", None)
    value = callspec.params.get(PARAMETER) if callspec else None
    return value if isinstance(value, PlannedCase) else None


def _marks(test: PlannedCase) -> Sequence[pytest.MarkDecorator]:
    """Regression contains smoke, so ``-m regression`` must find both."""
    return _of_tier(test.tier == SMOKE)


@lru_cache(maxsize=2)
def _of_tier(is_smoke: bool) -> Sequence[pytest.MarkDecorator]:
    """Made once, and not before they are registered."""
    return (pytest.mark.smoke, pytest.mark.regression) if is_smoke else (pytest.mark.regression,)


def one_of_each_instance(items: Iterable[pytest.Item]) -> frozenset[str]:
    """Node ids: of each instance that is held to a reference the smallest case, of exact data if there is one. The same
    in every process of a run, whatever each has heard of durations."""
    chosen: dict[str, tuple[bool, int, str]] = {}
    for item in items:
        test = planned_test(item)
        if test is None or test.refused or test.no_kernel or getattr(getattr(item, "function", None), "by", None):
            continue
        rank = test.fill != DEFAULT, work_of(test.problem), item.nodeid
        chosen[test.kernel.name] = min(rank, chosen.get(test.kernel.name, rank))
    return frozenset(node_id for *_, node_id in chosen.values())


def _deselect(config: pytest.Config, items: list[pytest.Item], unwanted: list[pytest.Item]) -> None:
    if unwanted:
        gone = set(map(id, unwanted))
        items[:] = [item for item in items if id(item) not in gone]
        config.hook.pytest_deselected(items=unwanted)
