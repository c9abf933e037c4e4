"""Generated translation units of a few lines: each registers the instances of one group.

A declaration states the members of a group as C++ spells them, and passes the texts as ``KernelFamily.generated``
instead of a file for each. A unit with more code is a source in the family's folder.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

_ELEMENTS = {"f64": "double", "f32": "float", "i32": "int32_t", "i8": "int8_t"}


@dataclass(frozen=True)
class Registered:
    """A C++ object that registers instances when the library is loaded.

    ``type`` is a name in the family's namespace, ``texts`` are the arguments of its constructor, ``wave`` the lanes of
    a wave without which a target has none of its instances (0: any).
    """

    type: str
    texts: tuple[str, ...]
    wave: int = 0


def element(dtype: str) -> str:
    """Return the C++ type of the elements of a dtype."""
    return _ELEMENTS.get(dtype, f"bitgate::{dtype}")


def units(namespace: str, groups: Mapping[str, Sequence[Registered]], header: str = "instances.hpp") -> dict[str, str]:
    """Return the text of ``<group>.hip.cpp`` for each group; ``header``, in the family's folder, has the types."""
    return {f"{group}.hip.cpp": _text(namespace, held, header) for group, held in groups.items()}


def _text(namespace: str, held: Sequence[Registered], header: str) -> str:
    lines = [f'#include "{header}"', f"namespace {namespace} {{"]
    for number, one in enumerate(held):
        texts = ", ".join(f'"{text}"' for text in one.texts)
        definition = f"static const {one.type} instances_{number}({texts});"
        lines += [f"#if BITGATE_HAS_WAVE({one.wave})", definition, "#endif"] if one.wave else [definition]
    return "\n".join([*lines, "}", ""])
