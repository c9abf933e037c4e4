"""Planning of candidates as cases: which kernel instances run a problem, in which tier, and under which id."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fnmatch import fnmatchcase
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Any

from bitgate.core.choices import REGRESSION, SMOKE
from bitgate.core.errors import UsageError, meant
from bitgate.core.project import ours
from bitgate.core.table_fields import FieldError
from bitgate.kernel.declaration import KernelFamily
from bitgate.kernel.loading import loaded_names, with_operations
from bitgate.kernel.registry import HINT, families
from bitgate.kernel.resolved import NO_KERNEL, Kernel, Options
from bitgate.results.plan import PlannedItem
from bitgate.suite.durations import Durations
from bitgate.suite.expand import ExpandedCase, expand
from bitgate.suite.instance_selection import eligible, one_each, refusals
from bitgate.suite.row import NEVER, CaseRow, near
from bitgate.suite.solved_list import is_list
from bitgate.suite.table import loads
from bitgate.verify.planned import PlannedCase


@dataclass(frozen=True)
class Setting:
    """Setting of one run, for all its cases."""

    target: str
    platform: str
    families: Mapping[str, KernelFamily]
    kernel: str = ""
    """Globs over ``family`` and ``family.instance``, with commas between them; empty: all."""
    options: tuple[tuple[str, str], ...] = ()
    """Kernel options of every case whose family has them."""
    schedule: str = ""
    seed: int | None = None
    tier: str = ""
    """``smoke`` leaves the rest of regression out, which is most of the work of planning."""
    durations: Durations = field(default_factory=Durations)
    loaded: frozenset[str] = frozenset()
    """Families that a user loaded: if there are any, and no ``kernel`` says otherwise, nothing else runs."""
    of_table: frozenset[str] = frozenset()
    """Those among them that the case table names itself."""
    selected: frozenset[str] = frozenset()
    """Ids that were asked for: of the instances that take a case these are planned with the one that is drawn, which
    is another one as soon as there are more."""
    only_selected: bool = False
    """Nothing is planned of a case that none of them is about."""

    @property
    def target_kind(self) -> str:
        return "host" if self.platform == "host" else "gpu"

    @property
    def smoke_on(self) -> str:
        """The target kind if only the smoke tier is planned, as ``table.load_set`` takes it."""
        return self.target_kind if self.tier == SMOKE else ""

    @property
    def globs(self) -> tuple[str, ...]:
        return tuple(filter(None, self.kernel.split(",")))

    @cached_property
    def kernels(self) -> tuple[Kernel, ...]:
        """Every instance, with no option named."""
        return tuple(Kernel(family, instance) for family in self.families.values() for instance in family.instances)

    @cached_property
    def _kernels_by_name(self) -> dict[str, Kernel]:
        return {kernel.name: kernel for kernel in self.kernels}

    @cached_property
    def _found(self) -> dict[tuple[str, ...], tuple[Kernel, ...]]:
        return {}

    def matching(self, globs: tuple[str, ...]) -> tuple[Kernel, ...]:
        """Return the instances that some glob matches; all without globs. Kept, since rows share their globs."""
        if not globs:
            return self.kernels
        if globs not in self._found:
            if len(globs) > 1:
                names = {kernel.name for glob in globs for kernel in self.matching((glob,))}
                found = [kernel for name, kernel in self._kernels_by_name.items() if name in names]
            elif named := self._kernels_by_name.get(globs[0]):
                found = [named]
            else:
                found = [kernel for kernel in self.kernels if _matches(kernel, globs)]
            self._found[globs] = tuple(found)
        return self._found[globs]

    @cached_property
    def _meant(self) -> dict[tuple[str, ...], tuple[Kernel, ...]]:
        return {}

    def meant(self, globs: tuple[str, ...]) -> tuple[Kernel, ...]:
        """Return the instances that a row with these globs means, and this run."""
        if globs not in self._meant:
            meant = [kernel for kernel in self.matching(globs) if _is_meant(kernel, bool(globs), self)]
            self._meant[globs] = tuple(kernel for kernel in meant if not self.kernel or _matches(kernel, self.globs))
        return self._meant[globs]

    @cached_property
    def _offering(self) -> dict[tuple[tuple[str, ...], str, str], tuple[Kernel, ...]]:
        return {}

    def offering(self, globs: tuple[str, ...], operation: str, dtypes: str = "") -> tuple[Kernel, ...]:
        """Return those among ``meant`` that offer an operation; with ``dtypes``, on these types."""
        key = globs, operation, dtypes
        if key not in self._offering:
            if dtypes:
                found = (kernel for kernel in self.offering(globs, operation) if dtypes in kernel.instance.dtypes)
            else:
                found = (k for k in self.meant(globs) if operation in k.family.operations_of(k.instance))
            self._offering[key] = tuple(found)
        return self._offering[key]

    @cached_property
    def _with_options(self) -> dict[tuple[Kernel, Options], Kernel]:
        return {}

    def with_options(self, kernel: Kernel, options: Options) -> Kernel:
        """Add a row's options, which yield to options of the whole run that the family has."""
        key = kernel, options
        if key not in self._with_options:
            everywhere = {name: value for name, value in self.options if kernel.family.option(name)}
            own = tuple(sorted((dict(options) | everywhere).items()))
            self._with_options[key] = replace(kernel, options=own)
        return self._with_options[key]

    @cached_property
    def selected_cases(self) -> frozenset[str]:
        """Each beginning of a selected id that may be its case."""
        parts = (name.split("__") for name in self.selected)
        return frozenset("__".join(some[:end]) for some in parts for end in range(1, len(some)))

    def lets_run(self, family: KernelFamily) -> bool:
        return bool(self.kernel) or not self.loaded or family.name in self.loaded


def line_of(planned: PlannedCase, test: str = "") -> PlannedItem:
    """Return the case as a plan records it; ``test`` is the node id of its test."""
    return PlannedItem(
        id=planned.id,
        key=planned.key,
        tier=planned.tier,
        suite=planned.suite,
        test=test,
        why=planned.why,
        pin=row_of(planned).pin,
        human=planned.human,
        refused=planned.refused,
        seconds=round(planned.seconds, 5),
        row=planned.row,
    )


def row_of(planned: PlannedCase) -> CaseRow:
    """Return the row that asks for a case of a table."""
    assert isinstance(planned.table_row, CaseRow)
    return planned.table_row


def plan_rows(rows: Iterable[CaseRow], setting: Setting, *, suite: str) -> list[PlannedCase]:
    """Plan every row's product on every kernel instance that is to run it.

    Raises UsageError for a table that cannot be right: an unknown kernel or option, or two rows that plan the same id.
    """
    tests: dict[str, PlannedCase] = {}
    for row in rows:
        for test in _plan_row(_for_loaded(row, setting), setting, suite):
            other = tests.setdefault(test.id, test)
            # Off the host, rows that differ in thread orders only are one case; so are lines of a list for a user.
            rival, planned = row_of(other), row_of(test)
            orders = setting.target_kind != "host" and "schedules" in {*row.axes, *rival.axes}
            lines = bool(setting.loaded) and is_list(rival.origin.path) and is_list(row.origin.path)
            if other is not test and rival is not planned and not orders and not lines:
                raise UsageError(f"{row.origin}: plans {test.id}, and so does {rival.origin}; remove one of them")
    return list(tests.values())


def for_table(setting: Setting, table: Path) -> Setting:
    """Return the setting of a table's rows: what the table loads is loaded for them.

    UsageError if two declarations have the same name.
    """
    own = loads(table)
    if not own:
        return setting
    declared = with_operations(ours().loading(own))
    names, known = loaded_names(own), families(declared)
    for name in names:
        if setting.families.get(name, known[name]) != known[name]:
            raise UsageError(f"{table}: load: another kernel family '{name}' is loaded already; rename one of them")
    own_families = {name: known[name] for name in names}
    loaded = setting.loaded | names
    return replace(setting, families={**setting.families, **own_families}, loaded=loaded, of_table=names)


def check_setting(setting: Setting) -> None:
    """Raise UsageError, with the nearest name, for a kernel glob that matches nothing or an unknown option."""
    kernels = [kernel for kernel in setting.kernels if setting.lets_run(kernel.family)]
    selected = [kernel.family for kernel in kernels if _matches(kernel, setting.globs or ("*",))]
    if not selected:
        raise UsageError(_no_kernel(setting.kernel, setting))
    for name, value in setting.options:
        options = [option for family in selected if (option := family.option(name))]
        if not options:
            every = sorted({option.name for family in selected for option in family.options})
            raise UsageError(f"no selected kernel has an option '{name}'; {near(name, every)}")
        if not any(option.allows(value) for option in options):
            raise UsageError(f"option {name}={value}: {near(value, options[0].values)}")


def _plan_row(row: CaseRow, setting: Setting, suite: str) -> Iterator[PlannedCase]:
    tier = row.tier[setting.target_kind]
    named = _named(row, setting)
    if (
        tier == NEVER
        or setting.tier == SMOKE != tier
        or not any(kernel.instance.fits(setting.target) for kernel in named)
    ):
        return  # a row that names instances of another wave size only is not for this target
    # bitgate's own rows are for whatever is loaded: what it does not take is another kernel's. A user's are not.
    takes_some = any(setting.lets_run(kernel.family) for kernel in named)
    is_elsewhere = bool(setting.loaded) and (is_ours(row) or not takes_some)
    if setting.of_table and not setting.kernel and not takes_some:
        raise FieldError(row.origin, "kernels", f"names none of what the table loads: {', '.join(setting.of_table)}")
    smoke_policy = row.smoke.get("instances", (row.instances,))[0]
    for candidate in expand(row, smoke_only=setting.tier == SMOKE):
        if is_list(row.origin.path) and candidate.case not in row.axes["case"]:  # --select finds lines by their text
            spelled = f"is spelled {candidate.case} in ids; write the list anew with `bitgate cases --solve`"
            raise FieldError(row.origin, "case", spelled)
        if setting.only_selected and candidate.case not in setting.selected_cases:
            continue
        operation, dtypes = candidate.problem.operation.name, candidate.problem.dtypes.canonical
        asked = eligible(candidate, setting.offering(row.kernels, operation, "" if row.refused else dtypes))
        if not asked and not row.refused:  # of other types, if one of those takes it
            asked = eligible(candidate, setting.offering(row.kernels, operation))
        if candidate.schedule and is_elsewhere:  # of threads that the host runtime runs
            asked = [kernel for kernel in asked if kernel.family.is_built]
        if not asked and not setting.kernel and not is_elsewhere:
            said = refusals(candidate, setting.offering(row.kernels, operation))
            yield _without_kernel(candidate, setting, suite, said)
        once = one_each(candidate, asked)
        names = {kernel.instance.name for kernel in once}
        selected = _selected(candidate, asked, once, setting)
        for kernel in asked if row.instances == "all" else (*once, *selected):
            is_drawn = kernel.instance.name in names or (setting.tier == SMOKE and kernel in selected)
            is_meant = smoke_policy == "all" or is_drawn
            in_smoke = candidate.in_smoke and is_meant
            if in_smoke or setting.tier != SMOKE:
                yield _test(candidate, kernel, setting, suite, tier if in_smoke else REGRESSION)


def _for_loaded(row: CaseRow, setting: Setting) -> CaseRow:
    """Return a line of a solved list as loaded kernels run it: its problem, on whichever instance takes it."""
    if not setting.loaded or setting.kernel or row.refused or not is_list(row.origin.path):
        return row
    return replace(row, kernels=(), instances="one")


def is_ours(row: CaseRow) -> bool:
    """Return whether the row is in one of bitgate's tables."""
    return ours().holds(row.origin.path)


def _is_meant(kernel: Kernel, is_named: bool, setting: Setting) -> bool:
    """Return whether a kernel is of the target; a row that names no kernel is not for references and probes."""
    family, instance = kernel.family, kernel.instance
    return (
        setting.lets_run(family)
        and setting.platform in family.platforms
        and instance.fits(setting.target)
        and (is_named or not (family.is_reference or family.is_probe))
    )


def _selected(
    candidate: ExpandedCase, asked: Sequence[Kernel], once: Sequence[Kernel], setting: Setting
) -> list[Kernel]:
    """Return the instances that were asked for by name, and those that are drawn."""
    if candidate.case not in setting.selected_cases:
        return []
    drawn = set(map(id, once))
    return [k for k in asked if id(k) not in drawn and _id_on(candidate, k, setting) in setting.selected]


def _id_on(candidate: ExpandedCase, kernel: Kernel, setting: Setting) -> str:
    return _id(candidate, f"{kernel.family.name}_{kernel.instance.name}", setting.target_kind == "host")


def _test(candidate: ExpandedCase, kernel: Kernel, setting: Setting, suite: str, tier: str) -> PlannedCase:
    row, (family, instance, _) = candidate.row, kernel.names
    seconds = setting.durations.estimate(candidate.case, family, instance, candidate.fill, candidate.work)
    return _planned(
        candidate,
        setting,
        suite,
        tier,
        kernel=setting.with_options(kernel, candidate.options),
        seed=candidate.seed if setting.seed is None else setting.seed,
        refused=row.refused,
        zero_result=row.zero_result,
        stated_id=_id_on(candidate, kernel, setting),
        seconds=0.0 if row.refused else seconds,
    )


def _without_kernel(candidate: ExpandedCase, setting: Setting, suite: str, said: list[str]) -> PlannedCase:
    """Plan a case that no kernel takes: unseen, a predicate that became too strict would empty a suite."""
    row = candidate.row
    wish = f"refuses it by clause '{row.refused}'" if row.refused else "supports it"
    return _planned(
        candidate,
        setting,
        suite,
        row.tier[setting.target_kind],
        kernel=NO_KERNEL,
        stated_id=_id(candidate, "no_kernel", setting.target_kind == "host"),
        no_kernel=f"no kernel instance {wish} on {setting.target}" + "".join(f"; {text}" for text in said[:3]),
    )


def _planned(candidate: ExpandedCase, setting: Setting, suite: str, tier: str, **more: Any) -> PlannedCase:
    """Plan a candidate's case, with what its kernel adds."""
    row = candidate.row
    return PlannedCase(
        problem=candidate.problem,
        fill=candidate.fill,
        schedule=_schedule(candidate, setting),
        target=setting.target,
        tier=tier,
        why=row.why,
        suite=suite,
        row=row.origin.place,
        table_row=row,
        **more,
    )


def _schedule(candidate: ExpandedCase, setting: Setting) -> str:
    """Return the host runtime's schedule; elsewhere a row's schedules are one and the same case."""
    if setting.target_kind != "host":
        return PlannedCase.schedule
    return candidate.schedule or setting.schedule or PlannedCase.schedule


def _id(candidate: ExpandedCase, kernel: str, on_host: bool) -> str:
    """Return the id ``<case>__<instance>__<fill>``, followed by what the row alone decides, as part of what it changes.

    Settings of the whole run stay out: a case keeps its id when a run toggles a gate.
    """
    options = "".join(f"_{name}_{value}" for name, value in candidate.options)
    schedule = f"_{candidate.schedule}" if candidate.schedule and on_host else ""
    seed = f"_seed{candidate.seed}" if candidate.seed else ""
    return "__".join([candidate.case, _plain(kernel + options), _plain(candidate.fill + schedule + seed)])


@lru_cache(maxsize=4096)
def _plain(text: str) -> str:
    return re.sub(r"[^a-z0-9]+", "_", text.lower()).strip("_")


def keywords_of(planned: PlannedCase) -> tuple[str, ...]:
    """Return words, besides its id, on which ``-k`` can select a case of a table.

    They are derived factors, the path that should be taken, and the row's name.
    """
    row, problem, kernel = row_of(planned), planned.problem, planned.kernel
    if planned.no_kernel:
        return (_plain(row.name),)
    words = [*problem.operation.space.keywords(problem), kernel.family.name, kernel.instance.name, _plain(row.name)]
    words += ["pinned"] * bool(row.pin)
    if not row.refused and planned.predicted:
        words.append(planned.predicted.path)
    return tuple(dict.fromkeys(words))


def _named(row: CaseRow, setting: Setting) -> Sequence[Kernel]:
    """Return the instances that the row names, or all; FieldError if it names an unknown kernel or option."""
    for glob in row.kernels:
        if not setting.matching((glob,)):
            raise FieldError(row.origin, "kernels", _no_kernel(glob, setting))
    named = setting.matching(row.kernels)
    for name, values in row.options.items():
        option = next((option for kernel in named if (option := kernel.family.option(name))), None)
        if option is None:
            every = sorted({option.name for family in setting.families.values() for option in family.options})
            raise FieldError(row.origin, "options", f"no kernel of the row has an option '{name}'; {near(name, every)}")
        for value in values:
            if not option.allows(value):
                raise FieldError(row.origin, "options", f"{name} = '{value}': {near(value, option.values)}")
    return named


def _no_kernel(glob: str, setting: Setting) -> str:
    names = [*setting.families, *(kernel.name for kernel in setting.kernels)]
    return f"no kernel is called '{glob}'{meant(glob.strip('*.'), names, 0.6)}; {HINT}"


_WILD = re.compile(r"[*?[]").search


def _matches(kernel: Kernel, globs: Iterable[str]) -> bool:
    names = (kernel.family.name, kernel.name)
    return any(glob in names or any(fnmatchcase(name, glob) for name in names if _WILD(glob)) for glob in globs)
