"""Project facts for ``bitgate ci select``: which files its kernels, tables, tests and operations are made of."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import bitgate
from bitgate.core.project import Project, ours, own_kernels
from bitgate.kernel.build.includes import FamilyUnit, Includes, places
from bitgate.kernel.declaration import KernelFamily
from bitgate.kernel.declared import is_own
from bitgate.kernel.loading import loaded_names, with_operations
from bitgate.kernel.registry import families
from bitgate.lab.ci.select_imports import ImportGraph, neighbours, states
from bitgate.lab.ci.select_reach import EVERYTHING, NOTHING, Reach, union
from bitgate.lab.ci.select_rules import ProjectFacts
from bitgate.model.registry import operations, own_operations, stated_in
from bitgate.results.plan import Plan
from bitgate.runtime.targets import platform_of
from bitgate.suite import sweep
from bitgate.suite.row_sources import Places, row_sources
from bitgate.suite.table import loads

JUDGES = ("bitgate.pytest_plugin", "bitgate.suite.pytest", "bitgate.worker.entry", "bitgate.verify.server")
"""Where the processes begin that plan cases, run kernels and judge what they left."""

AFTERWARDS = ("bitgate.results.report",)
"""Reads what is on the record when all verdicts are: what only it imports changes none."""

PLATFORMS = ("host", "amd", "nvidia")


def facts_of(project: Project, plan: Plan, gone: Collection[Path] = ()) -> ProjectFacts:
    """Return the facts for a plan's target. Its cases name their tests, since pytest has collected them.

    ``gone``: deleted files.

    UsageError for a table that is wrong.
    """
    loaded = (declaration for table in project.tables() for declaration in loads(table))
    return _FactsBuilder(with_operations(project.loading(loaded)), plan, frozenset(gone)).facts


@dataclass(frozen=True)
class _FactsBuilder:
    project: Project
    plan: Plan
    gone: frozenset[Path]

    @property
    def facts(self) -> ProjectFacts:
        return ProjectFacts(
            sources=self._sources,
            tools=self._tools,
            platforms=dict(self._platforms),
            declarations=self._declarations,
            operations=self._operations,
            harness=self._harness,
            rows=self._rows,
            tests=self._tests,
            instances=frozenset(f"{item.key.kernel}.{item.key.instance}" for item in self.plan.cases),
            suites=tuple(folder.resolve() for folder in self.project.shelves),
            ignored=tuple(self._ignored),
            folders={family.folder.resolve(): self._of_family(family) for family in self._families.values()},
        )

    # ------------------------------------------------------------------------------------------------ the plan

    @cached_property
    def platform(self) -> str:
        return platform_of(self.plan.target)

    @cached_property
    def _families(self) -> Mapping[str, KernelFamily]:
        return families(self.project)

    @cached_property
    def _modules(self) -> Mapping[Path, str]:
        """Test modules of the plan -> what node ids call them."""
        names = {item.test.partition("::")[0] for item in self.plan.cases}
        return {path: name for path in self._python for name in names if f"/{path.as_posix()}".endswith(f"/{name}")}

    @cached_property
    def _python(self) -> tuple[Path, ...]:
        """Python files in the folders of suites."""
        folders = (folder.resolve() for folder in self.project.suites)
        return tuple(path for folder in folders for path in sorted(folder.rglob("*.py")))

    @cached_property
    def _cases(self) -> Mapping[str, frozenset[str]]:
        """Operation -> its cases."""
        names = sorted(operations(), key=len, reverse=True)
        found: dict[str, set[str]] = defaultdict(set)
        for case in {item.key.case for item in self.plan.cases}:
            found[next((name for name in names if case.startswith(f"{name}_")), "")].add(case)
        return {name: frozenset(cases) for name, cases in found.items()}

    def _of_operations(self, names: Iterable[str]) -> Reach:
        known = frozenset(names)
        return Reach(operations=known, cases=frozenset().union(*(self._cases.get(name, ()) for name in known)))

    # --------------------------------------------------------------------------------------------- C++ and HIP

    @cached_property
    def _includes(self) -> Includes:
        return Includes(self.gone, places(self.platform))

    @cached_property
    def _sources(self) -> Mapping[Path, Reach]:
        found: dict[Path, Reach] = {}
        for family in self._families.values():
            units: dict[Path, list[FamilyUnit]] = defaultdict(list)
            for unit in self._includes.units(family):
                for path in unit.files:
                    units[path].append(unit)
            reaches = {path: self._of_units(family, made_of_it) for path, made_of_it in units.items()}
            if family.library is not None:
                reaches[(family.folder / family.library).resolve()] = self._of_family(family)
            found |= {path: found.get(path, NOTHING) | reach for path, reach in reaches.items()}
        return found

    def _of_units(self, family: KernelFamily, touched: Collection[FamilyUnit]) -> Reach:
        """Return the reach of a touched unit: its instances if some name it as their group, else the whole family."""
        groups = {unit.name for unit in touched}
        held = [one for one in family.instances if one.group in groups]
        if len(held) == len(family.instances) or groups - {one.group for one in family.instances}:
            return self._of_family(family)
        names = frozenset(f"{family.name}.{one.name}" for one in held)
        return Reach(instances=names) | self._taking_part(family)

    def _of_family(self, family: KernelFamily) -> Reach:
        return Reach(families=frozenset({family.name})) | self._taking_part(family)

    def _taking_part(self, family: KernelFamily) -> Reach:
        """Cases of other kernels that one of this family judges: a test that names another judge or reference may ask
        any, and on a GPU large problems are held to bitgate's naive kernels."""
        if self.platform == "host" or not (family.verifies and is_own(family)):
            return self._witnessed
        return self._witnessed | self._of_operations(family.operations)

    @cached_property
    def _witnessed(self) -> Reach:
        return Reach(modules=frozenset(name for path, name in self._modules.items() if states(path, "by", "reference")))

    @cached_property
    def _tools(self) -> Mapping[Path, Reach]:
        native = self._package.folder / "numerics" / "native"
        kernels = own_kernels().resolve()
        runtime = kernels / "platforms" / self.platform / "runtime"
        on_device = self._witnessed if self.platform == "host" else EVERYTHING
        reaches = {kernels / "device_tools": on_device, native: EVERYTHING, runtime: EVERYTHING}
        found: dict[Path, Reach] = {}
        for folder, reach in reaches.items():
            for path in self._includes.closure(sorted(folder.glob("*.[ch]*")), folder):
                found[path] = found.get(path, NOTHING) | reach
        return found

    @property
    def _platforms(self) -> Iterable[tuple[Path, Reach]]:
        """Files of other platforms: those which no file of the target's platform includes."""
        folder = own_kernels().resolve() / "platforms"
        for name in PLATFORMS:
            yield folder / name / "runtime", EVERYTHING if name == self.platform else NOTHING
            if name not in ("host", self.platform):
                yield folder / name / "include", NOTHING

    # --------------------------------------------------------------------------------------------------- Python

    @cached_property
    def _package(self) -> ImportGraph:
        return ImportGraph(Path(bitgate.__file__).parent)

    @cached_property
    def _judging(self) -> frozenset[str]:
        roots = [name for judge in JUDGES for name in self._package.below(judge)]
        return self._package.closure(roots, without=AFTERWARDS)

    def _harness(self, path: Path) -> Reach | None:
        if not path.is_relative_to(self._package.folder) or path.is_relative_to(self._package.folder / "_rooms"):
            return None
        module = self._package.module(path)
        if module is None or module in self._judging:
            return EVERYTHING
        return union(reach for reach, imported in self._importing if module in imported)

    @cached_property
    def _importing(self) -> tuple[tuple[Reach, frozenset[str]], ...]:
        """Modules that are loaded by name, with all that they import: operations, declarations, test modules."""
        found: list[tuple[Reach, frozenset[str]]] = []
        stated: dict[str, set[str]] = defaultdict(set)
        for name, operation in own_operations().items():
            stated[".".join(type(operation).__module__.split(".")[:3])].add(name)
        for package, names in stated.items():
            found.append((self._of_operations(names), self._package.closure(self._package.below(package))))
        for declaration, family in self._declared.items():
            named = frozenset().union(*(self._package.named(file) for file in neighbours(declaration)))
            found.append((self._of_family(family), self._package.closure(named)))
        for path, test in self._modules.items():
            reach = Reach(modules=frozenset({test}))
            found.append((reach, self._package.closure(self._package.named(path), without=AFTERWARDS)))
        return tuple(found)

    @cached_property
    def _declared(self) -> Mapping[Path, KernelFamily]:
        """Declaration file -> its family."""
        own = [own_kernels().resolve() / name / "declaration.py" for name in self._families]
        files = {path: self._families[path.parent.name] for path in own if path.is_file()}
        for path in self.project.declarations:
            file = (path / "declaration.py" if path.is_dir() else path).resolve()
            files[file] = self._families[next(iter(loaded_names([file])))]
        return files

    @cached_property
    def _declarations(self) -> Mapping[Path, Reach]:
        found: dict[Path, Reach] = {}
        for declaration, family in self._declared.items():
            for file in neighbours(declaration):
                found[file] = found.get(file, NOTHING) | self._of_family(family)
        return found

    @cached_property
    def _operations(self) -> Mapping[Path, Reach]:
        return {file.resolve(): self._of_operations(stated_in(file)) for file in self.project.operation_files}

    # --------------------------------------------------------------------------------------------------- suites

    @cached_property
    def _rows(self) -> Mapping[Path, Places]:
        found: dict[Path, dict[tuple[str, int], frozenset[tuple[str, str]]]] = defaultdict(dict)
        for table in self.project.tables():
            for path, rows in row_sources(table).items():
                known = found[path]
                known |= {row: known.get(row, frozenset()) | made for row, made in rows.items()}
        return found

    @cached_property
    def _tests(self) -> Mapping[Path, Reach]:
        """A test module reaches its own tests; any other Python file all that lie in its folder and below."""

        def reached(path: Path) -> Iterable[str]:
            if path in self._modules:
                return [self._modules[path]]
            return (name for module, name in self._modules.items() if module.is_relative_to(path.parent))

        return {path: Reach(modules=frozenset(reached(path))) for path in self._python}

    @property
    def _ignored(self) -> Iterable[Path]:
        """Seeded defects and sweeps have separate runs; what else bitgate's repository holds is for its makers."""
        yield from (path.resolve() for path in self.project.faults)
        yield from (shelf.resolve() / sweep.FOLDER for shelf in self.project.shelves)
        root = ours().root.resolve()
        if self.project.root.resolve() == root or not self.project.root.resolve().is_relative_to(root):
            yield from (root / name for name in ("docs", "tests", "benchmarks", "examples", "reports"))
            yield root / "suites" / "faults"
