"""Arguments of kernel calls: options and buffers as the C ABI takes them, checked against the declaration."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from ctypes import POINTER, c_void_p, cast, sizeof
from functools import lru_cache

from bitgate.core.errors import UsageError, meant
from bitgate.kernel.abi import CBuffers, COption, COptions, sized
from bitgate.kernel.declaration import ANY_INTEGER, Instance, KernelFamily


@lru_cache(maxsize=256)
def c_options(items: tuple[tuple[str, str], ...]) -> COptions:
    """Return named options as a C structure, which keeps alive what it points to."""
    value: COptions = sized(COptions)
    array = (COption * max(1, len(items)))()
    for entry, (name, text) in zip(array, items, strict=False):
        entry.name, entry.value = name.encode(), text.encode()
    value.count = len(items)
    value.items = cast(array, POINTER(COption))
    return value


def c_buffers(roles: Sequence[str], buffers: Mapping[str, int], workspace: tuple[int, int]) -> CBuffers:
    """Return device pointers in the order of the problem's roles, null for absent tensors, and the workspace.

    ``workspace`` is (pointer, bytes). The structure keeps alive what it points to.
    """
    value = CBuffers(struct_size=sizeof(CBuffers), tensor_count=len(roles))
    pointers = (c_void_p * max(1, len(roles)))(*(buffers.get(role) for role in roles))
    value.tensors = cast(pointers, POINTER(c_void_p))
    value.workspace, value.workspace_bytes = workspace
    return value


def find_instance(family: KernelFamily, name: str) -> Instance:
    """Return the instance of a name. UsageError with the nearest name if the family has none."""
    found = family.instance(name)
    if found is None:
        names = [instance.name for instance in family.instances]
        raise UsageError(f"kernel {family.name} has no instance '{name}'{nearest(name, names)}")
    return found


def check_options(family: KernelFamily, options: Mapping[str, str]) -> tuple[tuple[str, str], ...]:
    """Return the options in a stable order. UsageError with the nearest name for one that the family lacks."""
    for name, value in options.items():
        option = family.option(name)
        if option is None:
            names = [known.name for known in family.options]
            raise UsageError(f"kernel {family.name} has no option '{name}'{nearest(name, names)}")
        if not option.allows(value):
            allowed = "an integer" if option.values == ANY_INTEGER else " or ".join(option.values)
            raise UsageError(
                f"option {name}={value} of kernel {family.name}: the value is {allowed}{meant(value, option.values)}"
            )
    return tuple(sorted(options.items()))


def nearest(name: str, known: list[str]) -> str:
    """Return the end of a message about an unknown name: the nearest one, and all that exist."""
    if not known:
        return ": it has none"
    return f"{meant(name, known)}; known: {', '.join(known)}"
