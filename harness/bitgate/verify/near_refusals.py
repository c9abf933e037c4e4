"""A library and a declaration that disagree whether a problem is supported: both are asked about problems near it.

What they agree on shows which quantity one of them does not look at. Nothing is launched, and no outcome changes.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import fields, replace
from itertools import chain, islice

from bitgate.kernel.declared import harness_refusal
from bitgate.kernel.errors import KernelFailed
from bitgate.model import Problem, ProblemError
from bitgate.model.space.neighbour import Nearby
from bitgate.results.record import Verdict
from bitgate.runtime.errors import HipError
from bitgate.verify.diagnose.places import format_list
from bitgate.verify.launcher import LauncherDied
from bitgate.verify.planned import PlannedCase
from bitgate.verify.session import Session

MOST_ASKED = 480
"""Problems that both are asked about."""
MOST_NAMED = 3


def with_neighbours(verdict: Verdict, planned: PlannedCase, session: Session, clause: str) -> Verdict:
    """Return the verdict on a disagreement over ``clause``, its reason followed by what the two agree on nearby."""
    refused, supported = list[Nearby](), list[Nearby]()
    kernel = planned.kernel
    try:
        for near in islice(chain(_turned(planned.problem), _nearby(planned.problem)), MOST_ASKED):
            if harness_refusal(kernel.family, kernel.instance, near.problem) is not None:
                continue
            declared = kernel.refusal(near.problem)
            answer = session.launcher.ask(
                kernel, near.problem, planned.raced, refused=declared is not None, states=True
            )
            if answer.failed or answer.crash or answer.damage or answer.changes:
                return verdict
            if declared is None and answer.refusal is None:
                supported.append(near)
            elif declared and answer.refusal and declared.clause == answer.refusal.clause == clause:
                refused.append(near)
    except (HipError, KernelFailed, LauncherDied):
        return verdict
    known = {near.quantity for near in refused} & {near.quantity for near in supported}  # those say nothing
    pairs = (("refuse", refused), ("take", supported))
    kept = [(verb, [near for near in found if near.quantity not in known]) for verb, found in pairs]
    texts = [f"both {verb} it with {_listed(found)}" for verb, found in kept if found]
    return replace(verdict, reason="; ".join([verdict.reason, *texts])) if texts else verdict


def _listed(found: list[Nearby]) -> str:
    """Return the changes, each quantity once: the nearest of each."""
    by_quantity = {near.quantity: near for near in sorted(found, key=lambda near: -near.distance)}
    nearest = sorted(by_quantity.values(), key=lambda near: near.distance)[:MOST_NAMED]
    return format_list([f"{near.quantity} {near.new} instead of {near.old}" for near in nearest], "or")


def _nearby(problem: Problem) -> Iterator[Nearby]:
    space = problem.operation.space
    yield from sorted(space.nearby(problem), key=lambda near: near.distance)


def _turned(problem: Problem) -> Iterator[Nearby]:
    """Yield problems whose axes have exchanged a stride, a dilation, a pad or a length."""
    for field in fields(problem):  # type: ignore[arg-type]
        values = getattr(problem, field.name)
        if not isinstance(values, tuple) or not all(isinstance(value, int) for value in values):
            continue
        seen = {values}
        for one in range(len(values)):
            for other in range(one):
                turned = list(values)
                turned[one], turned[other] = turned[other], turned[one]
                if tuple(turned) in seen:
                    continue
                seen.add(tuple(turned))
                try:
                    changed = replace(problem, **{field.name: tuple(turned)})  # type: ignore[type-var]
                except ProblemError:
                    continue
                yield Nearby(field.name, str(values), str(tuple(turned)), 0.0, changed)
