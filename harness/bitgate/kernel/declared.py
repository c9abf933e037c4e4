"""Refusals by what a family declares about its instances: operations, dtypes, layouts, dimensions, forms of D.

They come before the family's own predicate, for planning, ``verify``, fuzzing, shrinking, laws and the pipeline alike.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache

from bitgate.core.project import ours
from bitgate.kernel import registry
from bitgate.kernel.declaration import Instance, KernelFamily, Refusal
from bitgate.model import Problem
from bitgate.model.d_form import DForm
from bitgate.model.gap import apart
from bitgate.model.registry import own_operations


@lru_cache(maxsize=1)
def own_families() -> frozenset[str]:
    """Return the names of bitgate's own families, which a loaded one cannot have."""
    return frozenset(registry.families(ours()))


def is_own(family: KernelFamily) -> bool:
    """Return whether a family is one of bitgate's, rather than loaded."""
    return family.name in own_families()


def declared_refusal(family: KernelFamily, instance: Instance, problem: Problem) -> Refusal | None:
    """Return a refusal by the first declared set that the problem is outside of."""
    for clause, value, declared in (
        ("operation", str(problem.operation), tuple(str(one) for one in family.operations_of(instance))),
        ("dtypes", problem.dtypes.canonical, instance.dtypes),
        ("ndims", problem.ndim, instance.ndims),
        ("layouts", problem.layout, instance.layouts),
        *(("d_forms", part, (*instance.d_forms, "")) for part in _forms_of_d(problem)),
    ):
        if clause == "layouts" and not declared:  # whatever its strides, as bitgate's own reductions
            continue
        if value not in declared and (value or declared):  # an operation may have no layouts, and no dimensions
            stated = ", ".join(filter(None, map(str, declared))) or "nothing"
            return Refusal(clause, f"{value} is not among what {family.name}.{instance.name} declares ({stated})")
    if instance.layouts and (tensors := apart(problem)):  # what a layout names last has neighbours
        stated = f"{family.name}.{instance.name} declares layouts, of which elements are neighbours"
        return Refusal("layouts", f"elements of {', '.join(tensors)} lie apart: {stated}")
    return None


def _forms_of_d(problem: Problem) -> tuple[str, ...]:
    """Return in what D differs from the result; nothing for operations without such a D."""
    form = getattr(problem, "d_form", None)
    return form.differs if isinstance(form, DForm) else ()


def harness_refusal(family: KernelFamily, instance: Instance, problem: Problem) -> Refusal | None:
    """Return the refusal for which neither predicate nor library is asked.

    None for bitgate's own families: their predicates and libraries answer for any problem of its operations, by their
    own clauses, which the suites check.
    """
    answers = family.name in answering_families(problem.operation.name)
    return None if answers else declared_refusal(family, instance, problem)


def answering_families(operation: str) -> frozenset[str]:
    """Return the names of the families that answer for any problem of the operation."""
    return own_families() if operation in own_operations() else frozenset()


def refusal_of(
    family: KernelFamily, instance: Instance, problem: Problem, options: Mapping[str, str]
) -> Refusal | None:
    """Return why the instance does not take the problem: by what is declared, then by its predicate.

    A predicate is never asked about another operation's problems, which it would have to know.
    """
    refusal = harness_refusal(family, instance, problem)
    if refusal is None and str(problem.operation) not in map(str, family.operations_of(instance)):
        return Refusal("operation", f"{family.name}.{instance.name} does not compute {problem.operation}")
    return refusal or family.supports(problem, instance, options)
