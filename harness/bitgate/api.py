"""The functions of ``import bitgate``, documented in docs/api.md."""

from __future__ import annotations

import atexit
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from bitgate.core.errors import UsageError
from bitgate.core.progress import print_progress
from bitgate.core.project_file import find
from bitgate.kernel import registry
from bitgate.kernel.loading import to_load, with_operations
from bitgate.results.record import Outcome, verdict_on
from bitgate.runtime import targets
from bitgate.verify.one_case import KernelArgument, OneCase, problem_of

if TYPE_CHECKING:
    import pytest

    from bitgate.core.project import Project
    from bitgate.kernel.declaration import KernelFamily
    from bitgate.model import Problem
    from bitgate.results.plan import Plan
    from bitgate.results.record import Verdict
    from bitgate.verify.process import CaseProcess


def verify(
    case: str,
    *,
    kernel: KernelArgument = None,
    target: str | None = None,
    fill: str = "exact",
    seed: int = 0,
    options: Mapping[str, str] | None = None,
) -> Verdict:
    """Verify one case, and return its verdict. Kernels run in a separate process.

    Where several kernel instances take the case, each is verified until one is not green.

    Parameters
    ----------
    case : a case id.
    kernel : a glob over ``family.instance``, the path of a declaration, or a function ``kernel(problem, tensors)``.
        Default: the kernels of the project in the current folder, or all of bitgate's that are no reference.
    target : ``host`` or a GPU's target; default: the best one present.
    fill, seed : the data.
    options : kernel options by name; the others keep their production value.

    Returns
    -------
    The first verdict that is not green, else that of the first instance. A kernel that refuses the case is not green.

    Raises
    ------
    UsageError : an unknown case, kernel, target, fill or option, with the nearest name.
    """
    where = targets.named(target) if target else targets.best()
    project = find().loading(to_load(None))
    request = OneCase(case, kernel, where.name, project, fill, seed, options or {})
    verdicts = []
    for planned in request.planned():
        if planned.no_kernel:
            return verdict_on(planned, where, Outcome.NOT_RUN, planned.no_kernel)
        verdicts.append(_process(where.name, request.loaded).verify(planned))
        if not verdicts[-1].green:
            break
    return next((verdict for verdict in verdicts if not verdict.green), verdicts[0])


def plan(tier: str = "smoke", *, target: str | None = None, kernel: str = "") -> Plan:
    """Return the plan of a tier: each planned case, with its kernel, why it is there and its estimated seconds.

    Parameters
    ----------
    tier : ``smoke`` or ``regression``, or another of the project's ``bitgate.toml``.
    target : of any machine; default: the best one present.
    kernel : globs over ``family.instance``, separated by commas; default: all.
    """
    from bitgate.suite.suites import make_plan

    return make_plan(tier, target or "", with_operations(find().loading(to_load(None))), kernel)


def load(path: str | Path) -> KernelFamily:
    """Return the kernel family of a declaration file, or of the folder that has a ``declaration.py``.

    Its code runs in a child process. The operations of the ``operation.py`` next to it are known from now on.
    """
    file = Path(path).absolute()
    with_operations(find().loading([file]))
    return registry.load_family((file / "declaration.py" if file.is_dir() else file).resolve())


def problem(case: str) -> Problem:
    """Return the problem of a case id. UsageError names the part that is wrong."""
    return problem_of(case)


def problems(
    operation: str, tier: str = "smoke", *, where: Callable[[Problem], bool] | None = None, most: int = 0
) -> pytest.MarkDecorator:
    """Run a test of pytest once for each problem of an operation in the suites: its argument ``case`` gets their ids.

    Parameters
    ----------
    operation : ``gemm``, ``softmax`` ..., or an operation of the project.
    tier : ``smoke`` or ``regression``, or another of the project's ``bitgate.toml``.
    where : keeps the problems for which it returns True.
    most : keeps this number of them, evenly from first to last; 0: all.

    Raises
    ------
    UsageError : an unknown operation or tier, or nothing that is kept.
    """
    import pytest

    from bitgate.suite.problems import problems_of

    project = with_operations(find().loading(to_load(None)))
    project.check_tier(tier)
    found = problems_of(operation, tier, project.tables())
    ids = [one.operation.spell(one) for one in found if where is None or where(one)]
    if not ids:
        raise UsageError(f"problems of {operation} in {tier}: 'where' keeps none of {len(found)}")
    count = min(most, len(ids)) if most > 0 else len(ids)
    return pytest.mark.parametrize("case", [ids[place * len(ids) // count] for place in range(count)])


_open: dict[tuple[str, Project], CaseProcess] = {}
"""The process of the last call, kept for the next one on the same target and declarations."""


def _process(target: str, project: Project) -> CaseProcess:
    from bitgate.verify.process import CaseProcess, Opening

    if (target, project) not in _open:
        _end()
        _open[target, project] = CaseProcess(Opening(target, project), progress=print_progress)
    return _open[target, project]


@atexit.register
def _end() -> None:
    for process in _open.values():
        process.end()
    _open.clear()
