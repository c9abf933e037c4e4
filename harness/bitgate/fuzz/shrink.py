"""From a failing case to the smallest one that fails alike, and to its nearest passing neighbours."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from time import perf_counter

from bitgate.coverage.batch import Batch
from bitgate.errors import UsageError
from bitgate.fuzz.failure import Found, Neighbour, Shrunk, is_failure, signature
from bitgate.fuzz.smaller import Change, change, changed, like, smaller, without_axis
from bitgate.kernel.declaration import KernelFamily
from bitgate.kernel.declared import harness_refusal, refusal_of
from bitgate.operation import ELEMENTWISE, DtypeSet, ProblemError
from bitgate.operations.convolution import ConvProblem
from bitgate.operations.convolution.layout import INPUT_LAYOUTS
from bitgate.operations.gemm import GEMM_LAYOUTS
from bitgate.record import Outcome, Verdict
from bitgate.verify.planned import Expectation, PlannedCase

Judge = Callable[[PlannedCase], Verdict]

MANY_NEIGHBOURS = 400_000_000
"""Operations beyond which a neighbour is too dear to be tried."""


class Shrinker:
    """One shrink: verdicts of cases, none asked for twice, until ``seconds`` are up."""

    def __init__(self, judge: Judge, family: KernelFamily, found: Found, seconds: float = 60.0) -> None:
        self._judge = judge
        self._family = family
        self._found = found
        self._wanted = signature(found.verdict)[0], signature(found.verdict)[1] == "support"
        self._begin = perf_counter()
        self._end = self._begin + seconds
        self._known: dict[PlannedCase, Verdict | None] = {}
        self.tried = 0

    def run(self) -> Shrunk:
        best, verdict, minimal = self._found.planned, self._found.verdict, False
        # A change that made a case pass seldom fails a step later: it waits until no other is left.
        waiting: set[Change] = set()
        while not minimal and perf_counter() < self._end:
            candidates = [c for c in smaller(best, self._family) if change(best, c) not in waiting]
            for candidate in candidates:
                failing = self._failing(candidate)
                if failing is not None:
                    best, verdict = candidate, failing
                    break
                waiting.add(change(best, candidate))
                if perf_counter() >= self._end:
                    break
            else:
                minimal = len(waiting) == len(candidates)
                waiting.clear()
        neighbours = tuple(sorted(self._neighbours(best), key=lambda neighbour: neighbour.distance))
        seconds = perf_counter() - self._begin
        return Shrunk(self._found, best, verdict, neighbours, minimal, self.tried, seconds)

    def _failing(self, candidate: PlannedCase) -> Verdict | None:
        verdict = self._verdict(candidate)
        is_like_it = verdict is not None and is_failure(verdict) and self._alike(verdict)
        return verdict if is_like_it else None

    def _alike(self, verdict: Verdict) -> bool:
        """The kind of diagnosis may change as the problem shrinks; outcome or disagreement may not."""
        outcome, kind = signature(verdict)
        return (outcome, kind == "support") == self._wanted

    def _verdict(self, planned: PlannedCase) -> Verdict | None:
        """None where it is nobody's business: the kernel does not take the problem, and rightly so."""
        if planned not in self._known:
            self._known[planned] = self._ask(planned)
        return self._known[planned]

    def _ask(self, planned: PlannedCase) -> Verdict | None:
        instance = self._family.instance(planned.instance)
        if instance is None or planned.problem.dtypes.canonical not in instance.dtypes:
            return None
        if harness_refusal(self._family, instance, planned.problem) is not None:
            return None
        refusal = refusal_of(self._family, instance, planned.problem, dict(planned.options))
        if refusal is not None and not self._wanted[1]:
            return None
        expect = Expectation() if refusal is None else Expectation("refused", refusal.clause)
        self.tried += 1
        try:
            return self._judge(replace(planned, expect=expect))
        except UsageError:
            return None  # a reference that cannot be had for these types or data

    def _neighbours(self, planned: PlannedCase) -> Iterator[Neighbour]:
        """For each quantity its nearest value that passes, if there is one."""
        until = max(self._end, perf_counter() + 0.2 * (self._end - self._begin))
        done: set[str] = set()
        for quantity, old, new, distance, problem in sorted(_changes(planned.problem), key=lambda change: change[3]):
            if quantity in done or problem.flops > MANY_NEIGHBOURS or perf_counter() >= until:
                continue
            for other in self._instances(planned, problem):
                verdict = self._verdict(other)
                if verdict is None:
                    continue
                if verdict.outcome is Outcome.PASS or (self._wanted[1] and verdict.green):
                    done.add(quantity)
                    yield Neighbour(quantity, old, new, distance, other)
                break

    def _instances(self, planned: PlannedCase, problem: ConvProblem) -> Iterator[PlannedCase]:
        """The same instance; for other types the ones of theirs."""
        if problem.dtypes == planned.problem.dtypes:
            yield replace(planned, problem=problem)
            return
        for instance in self._family.instances:
            yield replace(planned, problem=problem, instance=instance.name)


_LENGTHS = (1, 2, 3, 4, 7, 8, 9, 15, 16, 17, 31, 32, 33, 64)
_SCALARS = ("g", "n", "k", "c")
_AXES = {"filter": 1, "input": 1, "stride": 1, "dilation": 1, "left_pad": 0, "right_pad": 0}

Other = tuple[str, str, str, float, ConvProblem]


def _changes(problem: ConvProblem) -> Iterator[Other]:
    """Problems that differ in one quantity: its name, value now and then, how far apart they are, the problem."""
    for name in _SCALARS if problem.ndim else ("batch", "m", "n", "k"):
        old = getattr(problem, name)
        for new in _near(old, 1):
            yield name, str(old), str(new), _distance(old, new), changed(problem, name, new)
    for name, least in _AXES.items():
        values = getattr(problem, name)
        for axis, old in enumerate(values):
            for new in _near(old, least):
                spatial = (*values[:axis], new, *values[axis + 1 :])
                try:
                    other = changed(problem, name, spatial)
                except ProblemError:
                    continue
                yield f"{name}[{axis}]", str(old), str(new), _distance(old, new), other
    for op in ELEMENTWISE.values():
        if op != problem.op:
            yield "operation", problem.op.name, op.name, 2.0, replace(problem, op=op)
    yield "gap", str(problem.gap).lower(), str(not problem.gap).lower(), 2.0, replace(problem, gap=not problem.gap)
    for split_k in (1, 2, 3, -1):
        if split_k != problem.split_k:
            yield "split_k", str(problem.split_k), str(split_k), 2.0, replace(problem, split_k=split_k)
    for layout in GEMM_LAYOUTS if problem.ndim == 0 else INPUT_LAYOUTS[problem.ndim]:
        if layout != problem.layout:
            yield "layout", problem.layout, layout, 2.5, replace(problem, layout=layout)
    for name in ("in_op", "wei_op"):
        old_op = getattr(problem, name)
        if old_op.name != "pass":
            yield name, old_op.name, "pass", 1.0, changed(problem, name, ELEMENTWISE["pass"])
    if problem.ndim > 1:
        for axis in range(problem.ndim):
            yield "ndim", str(problem.ndim), str(problem.ndim - 1), 3.0, without_axis(problem, axis)
    if 0 < problem.ndim < 3:
        yield "ndim", str(problem.ndim), str(problem.ndim + 1), 3.0, with_axis(problem)
    for name in ("f32", "f16", "bf16"):
        if name != str(problem.dtypes):
            yield "types", str(problem.dtypes), name, 4.0, replace(problem, dtypes=DtypeSet.parse(name))


def with_axis(problem: ConvProblem) -> ConvProblem:
    """The problem with one more spatial dimension of length 1 in front."""
    row = Batch.from_problems([problem])
    return like(problem, row.with_columns(ndim=row.ndim + 1).problem(0))


def _near(value: int, least: int) -> list[int]:
    """Values around, and the round numbers where kernels change their ways."""
    around = {value + step for step in (-2, -1, 1, 2)} | {least, *_LENGTHS, 2 * value}
    return sorted((v for v in around if v >= least and v != value), key=lambda v: _distance(value, v))


def _distance(old: int, new: int) -> float:
    """Relative: 1 to 2 is as far as 8 to 16, and down is a little nearer than up."""
    low, high = sorted((old, new))
    return (high + 1) / (low + 1) - (0.01 if new < old else 0.0)
