"""A page of registers, LDS, scratch and spills of every kernel on every target, from its code object.

    python benchmarks/resources.py [--kernel GLOB] [--target T ...] [--out FILE]

Needs ziglang, and no GPU: one compiler for all targets. The figures are those of `bitgate compile --target T --json`.
"""

from __future__ import annotations

import argparse
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from bitgate.core import paths
from bitgate.core.targets import target_id
from bitgate.kernel.build import Builder, device_report
from bitgate.kernel.build.toolchain import find_device_compiler
from bitgate.kernel.declaration import KernelFamily, wave_sizes
from bitgate.kernel.registry import families, select
from bitgate.results.targets_file import read_targets

Rows = dict[str, dict[str, Any]]
"""Of one kernel, by target."""


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--kernel", default=None, help="only families with an instance that this glob matches")
    parser.add_argument("--target", action="append", help="a gfx target; default: all that ci/targets.toml promises")
    parser.add_argument("--out", type=Path, default=paths.out_dir() / "resources.md")
    arguments = parser.parse_args()
    promised = read_targets(paths.data_folder("ci") / "targets.toml").of("amd")
    targets = tuple(target_id(target).name for target in arguments.target or promised)
    chosen = dict.fromkeys(family.name for family, _ in select(arguments.kernel))
    kernels = {name: measured(families()[name], targets) for name in chosen}
    arguments.out.parent.mkdir(parents=True, exist_ok=True)
    arguments.out.write_text("\n".join(page(kernels, targets)) + "\n")
    print(f"{arguments.out}: {sum(map(len, kernels.values()))} kernels")


def measured(family: KernelFamily, targets: Sequence[str]) -> dict[tuple[str, str, str], Rows]:
    """By function, unit and instance. A kernel that many instances share stands under its unit alone."""
    found: dict[tuple[str, str, str], Rows] = defaultdict(dict)
    for target in targets:
        objects = Builder("amd", arch=target).code_objects(family)
        units = device_report.units_of_code_objects(objects)
        for row in device_report.rows(family, target, units):
            used = (units[row["unit"]].mnemonics or {}).get(row["kernel"], ())
            row["matrix"] = any(word.startswith(("v_mfma", "v_wmma")) for word in used)
            # Global memory is reached by global_ and flat_ instructions alone.
            row["touches_scratch"] = any(word.startswith(("scratch_", "buffer_")) for word in used)
            name = row["instance"] or row["unit"]
            found[row["function"], name, row["kernel"]][target] = row
    return found


def page(kernels: dict[str, dict[tuple[str, str, str], Rows]], targets: Sequence[str]) -> list[str]:
    rows = [row for family in kernels.values() for by_target in family.values() for row in by_target.values()]
    lines = [
        "# Registers, LDS and scratch",
        "",
        f"Every kernel of every family, compiled by {find_device_compiler().name}:"
        " `python benchmarks/resources.py` writes this page, `bitgate compile --target T --json` prints the same"
        " figures of one target.",
        "",
        "A cell is vector registers / scalar registers; on gfx9 the first include accumulation registers. After it"
        " stands what else there is: bytes of scratch a lane; vector registers that were spilled to scratch; scalar"
        " registers that were moved to lanes of vector registers, which touches no memory. LDS is bytes a block.",
        "",
        "| target | lanes of a wave | kernels | with spills | with scratch | with scalars in lanes | of these matrix |",
        "|---|---|---|---|---|---|---|",
    ]
    for target in targets:
        here = [row for row in rows if row["target"] == target]
        counts = [sum(bool(row[figure]) for row in here) for figure in ("spills", "scratch", "sgpr_spills")]
        matrix = sum(row["matrix"] and bool(row["spills"] or row["scratch"] or row["sgpr_spills"]) for row in here)
        lines.append(
            f"| {target} | {wave_sizes(target)[0]} | {len(here)} | {' | '.join(map(str, counts))} | {matrix} |"
        )
    for name, family in kernels.items():
        for wave in (64, 32):
            lines += table(name, family, tuple(target for target in targets if wave_sizes(target) == (wave,)), wave)
    return lines


def table(name: str, family: dict[tuple[str, str, str], Rows], targets: tuple[str, ...], wave: int) -> list[str]:
    """Kernels with equal figures share a row."""
    equal: dict[tuple[str, ...], list[str]] = defaultdict(list)
    for (function, instance, _), rows in sorted(family.items()):
        here = [rows[target] for target in targets if target in rows]
        if here:
            lds = " / ".join(dict.fromkeys(str(row["lds"]) for row in here))
            cells = [cell(rows[target]) if target in rows else "" for target in targets]
            equal[(function, lds, *cells)].append(instance)
    if not equal:
        return []
    lines = ["", f"## {name}, waves of {wave}", "", f"| kernel | instances | LDS | {' | '.join(targets)} |"]
    lines.append("|---" * (3 + len(targets)) + "|")
    for (function, *figures), instances in equal.items():
        lines.append(f"| {function} | {', '.join(dict.fromkeys(instances))} | {' | '.join(figures)} |")
    return lines


def cell(row: dict[str, Any]) -> str:
    text = f"{row['vgprs']} / {row['sgprs']}"
    if row["scratch"]:
        text += f", scratch {row['scratch']}{'' if row['touches_scratch'] else ' (no instruction touches it)'}"
    if row["spills"]:
        text += f", {row['spills']} spilled"
    return text + (f", {row['sgpr_spills']} in lanes" if row["sgpr_spills"] else "")


if __name__ == "__main__":
    main()
