"""The solved lists next to the suites' tables: written with what they were solved from, and whether that changed."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable, Iterator, Mapping
from hashlib import sha256
from itertools import takewhile
from pathlib import Path
from typing import Any

import bitgate
from bitgate.kernel.declaration import KernelFamily
from bitgate.results.strength import Strength, in_words, strength_in
from bitgate.suite.solved_list import write_list
from bitgate.tools.tiers.cost import read_costs
from bitgate.tools.tiers.offsets import solve_offsets
from bitgate.tools.tiers.request import OffsetRequest, SolveRequest, read_requests, requested
from bitgate.tools.tiers.solve import solve_suite

TAKEN, REFUSED = "solved.txt", "refused.txt"
"""The files of a suite: cases that kernels take, and cases that they must refuse."""
COMMAND = "bitgate cases --solve"
OFFSETS = "Cases for each stride of each tensor that reach offsets beyond 2^32 elements."
INPUTS = "solved from"
"""The beginning of the header's line with the inputs' hash."""
SOURCES = (
    "model/space",
    "model/elementwise.py",
    "model/d_form.py",
    "model/dtype.py",
    "ops/*/space",
    "ops/*/space.py",
    "ops/*/numerics.py",
    "model/fill.py",
    "tools/tiers/apart.py",
    "tools/tiers/cost.py",
    "tools/tiers/pool.py",
    "tools/tiers/cover.py",
    "tools/tiers/solve.py",
    "tools/fuzz/draw.py",
    "tools/fuzz/round.py",
)
"""The code that decides what is drawn and chosen, below the package."""
OFFSET_SOURCE = Path(__file__).with_name("offsets.py")


def write_lists(
    folder: Path, suites: Iterable[str], families: Mapping[str, KernelFamily], progress: Callable[[str], None]
) -> list[Strength]:
    """Solve these suites (all that are asked for, without any) and write their lists. UsageError for an unknown one."""
    strengths: list[Strength] = []
    costs = read_costs(folder)
    for suite, request in requested(folder, suites).items():
        inputs = hash_of(folder, request, families)
        if isinstance(request, OffsetRequest):
            lines = solve_offsets(request, families, progress)
            write_list(folder / suite / TAKEN, (OFFSETS, _written(suite), f"{INPUTS} {inputs}"), lines)
            continue
        solved = solve_suite(request, families, costs, progress)
        for file, cases, what in (
            (
                TAKEN,
                solved.taken,
                "Cases by the pairs of classes, and then the triples, that they are the first to reach.",
            ),
            (REFUSED, solved.refused, "Cases just outside of what instances take, by the clause that refuses them."),
        ):
            reached = (in_words(one) for one in solved.strengths)
            header = (what, _written(suite), f"{INPUTS} {inputs}", *reached)
            if cases or (folder / suite / file).exists():
                write_list(folder / suite / file, header, cases)
        strengths += solved.strengths
    return strengths


def strengths_of(folder: Path) -> list[Strength]:
    """Return the strengths that the headers of the lists state, suite by suite."""
    found = []
    for suite in read_requests(folder):
        path = folder / suite / TAKEN
        header = takewhile(lambda line: line.startswith("#"), path.read_text().splitlines() if path.is_file() else ())
        found += [one for line in header if (one := strength_in(line.removeprefix("# "))) is not None]
    return found


def table_of(strengths: Iterable[Strength]) -> str:
    """Return strengths as a Markdown table: a row a family, operation and tier."""
    rows = ["| kernels | operation | tier | cases | seconds | pairs | triples |", "|---|---|---|---|---|---|---|"]
    for one in strengths:
        # Rounded down: 100 % are all.
        shares = (f"{done} of {of} ({1000 * done // of / 10} %)" for done, of in (one.pairs, one.triples))
        cells = (f"`{one.family}`", one.operation, one.tier, f"{one.cases}", f"{one.seconds:.1f}", *shares)
        rows.append(f"| {' | '.join(cells)} |")
    return "\n".join(rows)


def stale_lists(folder: Path, families: Mapping[str, KernelFamily]) -> list[str]:
    """Return the suites whose lists were solved from something else than what is there now."""
    found = []
    for suite, request in read_requests(folder).items():
        path = folder / suite / TAKEN
        expected = f"# {INPUTS} {hash_of(folder, request, families)}"
        if not path.is_file() or expected not in path.read_text().splitlines()[:4]:
            found.append(suite)
    return found


def hash_of(folder: Path, request: SolveRequest | OffsetRequest, families: Mapping[str, KernelFamily]) -> str:
    """Return a hash of all that a suite's lists follow from: request, declarations, costs, and this code."""
    known = sha256(repr(request).encode())
    for name in request.kernels:
        for path in sorted([*families[name].folder.glob("*.py"), *families[name].folder.parent.glob("*.py")]):
            known.update(_meaning(path))
    if isinstance(request, SolveRequest):
        known.update(repr(_costs_of(folder, request)).encode())
    for path in (*_sources(), *([OFFSET_SOURCE] if isinstance(request, OffsetRequest) else ())):
        known.update(_meaning(path))
    return known.hexdigest()[:16]


def _costs_of(folder: Path, request: SolveRequest) -> list[tuple[str, tuple[float, ...]]]:
    """Return the costs that a request is solved with: those of its families, or all where one has none."""
    costs = read_costs(folder).costs
    own = {name: parts for name, parts in costs.items() if name.partition(".")[0] in request.kernels}
    is_whole = {name.partition(".")[0] for name in own} == set(request.kernels)
    return sorted((own if is_whole else costs).items())


def _written(suite: str) -> str:
    return f"Written by `{COMMAND} {suite}`; not to be edited."


def _sources() -> Iterator[Path]:
    package = Path(bitgate.__file__).parent
    for pattern in SOURCES:
        for place in sorted(package.glob(pattern)):
            yield from sorted(place.rglob("*.py")) if place.is_dir() else (place,)


def _meaning(path: Path) -> bytes:
    """Return a module's code without comments and docstrings, whose change moves no case."""
    tree = ast.parse(path.read_text())
    for node in ast.walk(tree):
        body = getattr(node, "body", None)
        if isinstance(body, list):
            node.body = [one for one in body if not _is_text(one)]  # type: ignore[attr-defined]
    return _in_text(tree).encode()


def _in_text(part: Any) -> str:
    """Return a part of a syntax tree as text, the same in each version of Python: later ones have more fields, empty
    where the code does without what they stand for, and some do not join neighbouring texts of an f-string."""
    if isinstance(part, ast.JoinedStr):
        return "".join(str(one.value) if isinstance(one, ast.Constant) else _in_text(one) for one in part.values)
    if isinstance(part, ast.AST):
        stated = [f"{name}={_in_text(value)}" for name, value in ast.iter_fields(part) if value not in (None, [])]
        return f"{type(part).__name__}({', '.join(stated)})"
    if isinstance(part, list):
        return f"[{', '.join(map(_in_text, part))}]"
    return repr(part)


def _is_text(node: ast.AST) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)
