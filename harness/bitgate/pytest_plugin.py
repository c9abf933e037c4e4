"""The pytest plugin, by entry point. It wakes up for suites only (folders with a cases.toml); every other pytest run
on the machine pays one look at its arguments and meets two marks and the fixture ``bitgate`` of ours, and no option,
hook or exit code before a test asks for that."""

from __future__ import annotations

import os
from collections.abc import Generator
from typing import TYPE_CHECKING, Any

import pytest

from bitgate.core.suite_paths import names_a_suite

if TYPE_CHECKING:
    from bitgate.suite.pytest.checks import Check
    from bitgate.suite.pytest.run import TestRun

AWAKE = "bitgate_target"
"""An attribute of ``config.option`` that only our options make; xdist hands it on to its workers."""


def pytest_addoption(parser: pytest.Parser, pluginmanager: pytest.PytestPluginManager) -> None:
    config = pluginmanager.get_plugin("pytestconfig")
    if config is not None and names_a_suite(config.invocation_params.args, config.invocation_params.dir):
        from bitgate.suite.pytest import options

        options.add(parser)


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_load_initial_conftests(
    early_config: pytest.Config, parser: pytest.Parser, args: list[str]
) -> Generator[None, None, None]:
    """End with 2 for a bad option, as everywhere in bitgate; pytest itself would end with 4."""
    yield
    known = early_config.known_args_namespace
    if hasattr(known, AWAKE) and not known.help:
        try:
            parser.parse(args)
        except pytest.UsageError as error:
            from bitgate.suite.pytest.options import explain

            raise SystemExit(explain(error, args)) from None


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_cmdline_main(config: pytest.Config) -> Generator[None, int | None, int | None]:
    if not hasattr(config.option, AWAKE) or hasattr(config, "workerinput"):
        return (yield)
    from bitgate.suite.pytest import outcome

    try:
        status = yield
    except pytest.UsageError as error:
        outcome.complain(error)
        return outcome.USAGE
    return status if status is None else outcome.exit_code(int(status), awake(config))


@pytest.hookimpl(optionalhook=True, tryfirst=True)
def pytest_xdist_auto_num_workers(config: pytest.Config) -> int | None:
    if not hasattr(config.option, AWAKE) or os.environ.get("PYTEST_XDIST_AUTO_NUM_WORKERS"):
        return None
    from bitgate.suite.pytest.workers import count

    return count(config)


def pytest_configure(config: pytest.Config) -> None:
    for tier, meaning in (("smoke", "what every change must pass"), ("regression", "all of it; contains smoke")):
        config.addinivalue_line("markers", f"{tier}: {meaning} (bitgate)")
    if hasattr(config.option, AWAKE) and not config.option.help and not config.option.markers:
        _begin_zygote(config.option)
        from bitgate.suite.pytest.start import start

        start(config)


def _begin_zygote(option: Any) -> None:
    """Let judges and launchers import what they need while this process does, unless this one will start none."""
    if not (option.collectonly or option.bitgate_in_process or getattr(option, "numprocesses", None)):
        from bitgate.verify.launcher_worker import PRELOAD
        from bitgate.worker.child import begin_zygote

        begin_zygote(PRELOAD)


def awake(config: pytest.Config) -> TestRun | None:
    from bitgate.suite.pytest.run import RUN

    return config.stash.get(RUN, None)


@pytest.fixture
def bitgate(request: pytest.FixtureRequest) -> Check:
    """Verify cases: ``bitgate.check(case, kernel=...)`` records the verdict, and fails the test if it is red."""
    from bitgate.suite.pytest.checks import Check, checks_of

    return Check(checks_of(request.config), request.node)


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: Any) -> None:
    """Take over the reports of a worker of xdist that has used the fixture."""
    if names := getattr(node, "workeroutput", {}).get("bitgate_checked"):
        from bitgate.suite.pytest.checks import checks_of

        checks_of(node.config).answer_for(names)
