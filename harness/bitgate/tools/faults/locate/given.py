"""The red cases that a localization begins with: of one kernel family, and of a part of it that one library holds."""

from __future__ import annotations

from collections.abc import Sequence

from bitgate.core.errors import UsageError
from bitgate.kernel.declaration import KernelFamily
from bitgate.results.record import Outcome
from bitgate.tools.faults.mutation.trial import MeasuredCase, is_red
from bitgate.verify.planned import PlannedCase
from bitgate.verify.process import CaseRequest

MOST_GIVEN = 4
"""Red cases on their kernels that an edit has to turn green, if no more are named."""


def family_of(planned: Sequence[PlannedCase]) -> KernelFamily:
    """Return the family of all cases. Raises UsageError if there are several, or one without sources."""
    for one in planned:
        if one.no_kernel:
            raise UsageError(f"{one.case}: {one.no_kernel}")
    families = {one.kernel.family.name: one.kernel.family for one in planned}
    if len(families) > 1:
        raise UsageError(f"the cases run on {', '.join(sorted(families))}: name one with --kernel 'FAMILY.*'")
    [family] = families.values()
    if not family.is_built or family.library is not None:
        raise UsageError(f"{family.name} is not built from sources here: there is nothing to edit")
    return family


def red_cases(family: KernelFamily, plain: Sequence[MeasuredCase]) -> tuple[KernelFamily, list[MeasuredCase]]:
    """Return the part of the family to be built, and the red cases on its instances, the shortest first.

    It is the part of one group of instances if that has a red verdict of each red case. Raises UsageError for sources
    that do not compile.
    """
    for case in plain:
        if case.verdict.outcome is Outcome.BUILD_FAILED:
            raise UsageError(case.verdict.reason)
    reds = sorted((case for case in plain if is_red(case.verdict)), key=lambda case: case.seconds)
    groups: dict[str, set[str]] = {}
    for case in reds:
        groups.setdefault(case.question.planned.kernel.instance.group, set()).add(case.question.planned.case)
    named = {case.question.planned.case for case in reds}
    group = next((group for group, cases in groups.items() if cases == named), None)
    if group is not None:
        family = family.only(group)
        reds = [case for case in reds if case.question.planned.kernel.instance.group == group]
    firsts: dict[str, MeasuredCase] = {}
    for case in reds:
        firsts.setdefault(case.question.planned.case, case)
    rest = [case for case in reds if case not in firsts.values()]
    return family, [*firsts.values(), *rest[: max(0, MOST_GIVEN - len(firsts))]]


def other_cases(
    family: KernelFamily, questions: Sequence[CaseRequest], planned: Sequence[PlannedCase]
) -> list[CaseRequest]:
    """Return the questions about the instances of a part of a family that are not about the ``planned`` cases."""
    names, keys = {instance.name for instance in family.instances}, {one.key for one in planned}
    own = (one for one in questions if one.planned.kernel.instance.name in names)
    return [one for one in own if one.planned.key not in keys]
