"""Print the figures of the harness's import graph, and fail if modules import each other in a circle.

Imports within functions count; those for types alone do not.
"""

import sys
from collections.abc import Mapping
from graphlib import CycleError, TopologicalSorter

import grimp

Graph = Mapping[str, set[str]]


def grouped(modules: Graph, parts: int) -> Graph:
    """Return the graph of layers for one part of a module's name, of their folders for two."""
    packages = {name.rpartition(".")[0] for name in modules}
    box = {
        name: ".".join((name if name in packages else name.rpartition(".")[0] or name).split(".")[1 : 1 + parts])
        for name in modules
    }
    box |= {name: name.partition(".")[2] for name, found in box.items() if not found}
    groups: dict[str, set[str]] = {found: set() for found in box.values()}
    for above, found in modules.items():
        groups[box[above]] |= {box[below] for below in found} - {box[above]}
    return groups


def levels(graph: Graph) -> int:
    """Return the length of the longest chain of imports. CycleError if there is a circle."""
    height: dict[str, int] = {}
    for name in TopologicalSorter(graph).static_order():
        height[name] = 1 + max((height[below] for below in graph[name]), default=0)
    return max(height.values())


def main() -> int:
    found = grimp.build_graph("bitgate", exclude_type_checking_imports=True)
    modules: dict[str, set[str]] = {name: found.find_modules_directly_imported_by(name) for name in found.modules}
    try:
        depth = levels(modules)
    except CycleError as error:
        print(f"modules import each other in a circle: {' <- '.join(error.args[1])}: move what they share below both")
        return 1
    print(f"{len(modules)} modules, {sum(map(len, modules.values()))} imports, {depth} levels, no circle")
    for what, parts in (("layers", 1), ("folders", 2)):
        boxes = grouped(modules, parts)
        arrows = sum(map(len, boxes.values()))
        try:
            print(f"{len(boxes)} {what}, {arrows} arrows, {levels(boxes)} levels")
        except CycleError:
            print(f"{len(boxes)} {what}, {arrows} arrows")
    return 0


if __name__ == "__main__":
    sys.exit(main())
