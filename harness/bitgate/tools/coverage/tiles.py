"""The tiles of kernels, as their declarations state them, by the lengths of an operation that they cut."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from bitgate.core.errors import UsageError, near
from bitgate.kernel.declaration import Instance, KernelFamily
from bitgate.model import Operation
from bitgate.model.space.quantity import lengths


def tiles_of(instance: Instance, operation: Operation) -> dict[str, int]:
    """Return how much of each length, by name, one tile takes. Raises UsageError for a length that the operation
    lacks."""
    stated = operation.space.tiled(instance.tile) if instance.tile is not None else {}
    if instance.tiles:
        known = [length.name for length in lengths(operation.space.quantities)]
        for name in instance.tiles:
            if name not in known:
                what = f"tiles names '{name}', which is not a length of {operation.name}"
                raise UsageError(f"instance {instance.name}: {what}: {near(name, known)}")
    return {**stated, **instance.tiles}


def largest(families: Iterable[KernelFamily], operation: Operation) -> Mapping[str, int]:
    """Return the largest tile of each length over all instances that compute it, references left out.

    A length that is cut into three of the largest tiles is cut into three of all.
    """
    found: dict[str, int] = {}
    for family in families:
        for instance in () if family.is_reference else family.instances:
            if operation.name in family.operations_of(instance):
                for name, size in tiles_of(instance, operation).items():
                    found[name] = max(size, found.get(name, 0))
    return found
