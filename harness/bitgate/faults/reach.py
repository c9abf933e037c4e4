"""Which kernel families a source reaches: those one of whose translation units includes it, through others or not."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from pathlib import Path

from bitgate.kernel.declaration import KernelFamily

_INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*[<"]([^>"]+)[>"]', re.MULTILINE)


def families_reached(file: str, families: Iterable[KernelFamily], root: Path) -> tuple[str, ...]:
    """Names of the families whose libraries are another once ``file`` (relative to ``root``) is edited. An include
    behind an #if counts. Empty if no family includes it: a source of the runtime, or of tools."""
    wanted = (root / file).resolve()
    places = (root / "kernels" / "include", root / "kernels" / "platforms" / "host" / "include")
    return tuple(family.name for family in families if wanted in _closure(family, places))


def _closure(family: KernelFamily, places: tuple[Path, ...]) -> set[Path]:
    found: set[Path] = set()
    waiting = [(family.folder / source).resolve() for source in family.sources if source not in family.generated]
    for text in family.generated.values():
        waiting += _included(text, (family.folder, *places))
    while waiting:
        path = waiting.pop()
        if path not in found and path.is_file():
            found.add(path)
            waiting += _included(path.read_text(errors="replace"), (path.parent, family.folder, *places))
    return found


def _included(text: str, places: Iterable[Path]) -> Iterator[Path]:
    for name in _INCLUDE.findall(text):
        yield from ((place / name).resolve() for place in places if (place / name).is_file())
