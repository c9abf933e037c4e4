"""Mistakes on the way from an operand's bits to the result's: operations on elements, types, roundings, ends of ranges.

Each is computed for the whole result, in the stated order of its sums where these are rounded, and compared with it bit
for bit.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bitgate.model import DTYPES, Dtype, Elementwise, Problem
from bitgate.model.elementwise import ELEMENTWISE, applied
from bitgate.model.finding import Finding, Role
from bitgate.numerics.bits import Array, bits_of
from bitgate.numerics.ordered import accumulator_of, through_epilogue
from bitgate.numerics.rounding import largest, rounded, smallest_normal
from bitgate.verify.diagnose.layouts import read_as
from bitgate.verify.diagnose.places import format_list
from bitgate.verify.diagnose.scene import Scene

Floats = NDArray[Any]

MOST_PRODUCTS = 4_000_000
"""Products of a result that is computed again; larger ones are not."""
ENOUGH = 8
"""Fewer wrong cells, or fewer different values in them, may agree by chance where right cells do not."""
DIFFERENT = 4
MOST_NEAR = 0.5
"""The largest share of wrong cells that a mistake may leave as they should be, but for rounding."""
MOST_NAMED = 3

Results = Iterator[tuple[str, str, Array]]
"""Words for a mistake, its kind, and the whole result with it."""


def converted(scene: Scene[Problem]) -> Finding | None:
    """Find another operation, type or rounding, with which the whole result is what the kernel left."""
    way = _Way(scene)
    if not way.is_known:
        return None
    found: list[tuple[str, str, bool]] = []
    tried = 0
    with np.errstate(all="ignore"):
        for text, kind, values in way.mistakes():
            tried += 1
            same = way.agree(values, scene.result)
            if not same[scene.wrong].all() or way.agree(values, scene.reference)[scene.wrong].mean() > MOST_NEAR:
                continue
            if same.all():
                found.append((text, kind, True))
            elif _is_rich(scene):
                found.append((text, kind, False))
    if not found:
        return None
    is_wide = any(wide for _, _, wide in found)
    named = {text: kind for text, kind, wide in found if wide == is_wide}
    texts, kind = list(named)[:MOST_NAMED], next(iter(named.values()))
    words = format_list(texts, "or") + ("" if is_wide else " in the wrong cells, not in the right ones")
    implied = frozenset({"rounding", "overflow", "special_value", "zero", "poison", "k_tail", "other"}) - {kind}
    evidence = {"recomputed": scene.result.size, "tried": tried}
    return Finding(kind, Role.CAUSE, 0.995 if is_wide else 0.955, words, evidence, implied, examined=scene.count)


def _is_rich(scene: Scene[Problem]) -> bool:
    cells = bits_of(scene.wrong_result)
    return cells.size >= ENOUGH and np.unique(cells).size >= DIFFERENT


@dataclass(frozen=True, eq=False)
class _Way:
    """The way of a scene's result: operands, factors, sums, the operation on these, and the result's type."""

    scene: Scene[Problem]

    @cached_property
    def problem(self) -> Problem:
        return self.scene.problem

    @property
    def is_known(self) -> bool:
        """Return whether the result can be computed again, to the bit, and soon."""
        scene, numerics = self.scene, self.problem.operation.numerics
        form = numerics.form(self.problem)
        if form is None or scene.channels is not None or scene.role != self.problem.result:
            return False
        if not scene.operands:
            return False
        if (
            not (scene.exact or scene.ordered)
            and 4 * np.isfinite(scene.wrong_result.astype(np.float64)).sum() < scene.count
        ):
            return False  # many mistakes leave NaN in the same cells
        return bool(numerics.terms(self.problem) * scene.result.size <= MOST_PRODUCTS)

    @property
    def roles(self) -> tuple[str, ...]:
        return self.problem.operation.numerics.operands(self.problem)

    def agree(self, values: Array, cells: Array) -> NDArray[np.bool_]:
        """Return where values are the cells: bit for bit, or but for the rounding of sums whose order is not stated."""
        same = bits_of(values) == bits_of(cells)
        if self.scene.exact or self.scene.ordered:
            return np.asarray(same)
        ours, theirs = values.astype(np.float64), cells.astype(np.float64)
        near = np.abs(ours - theirs) <= self.slack + np.abs(theirs) * 2.0 ** (2 - self.scene.dtype.mantissa)
        return np.asarray(same | near | (np.isnan(ours) & np.isnan(theirs)))

    @cached_property
    def slack(self) -> Floats:
        """The distance that sums may have for the rounding of their terms; 0 where a factor is not finite."""
        numerics = self.problem.operation.numerics
        form = numerics.form(self.problem)
        assert form is not None
        sizes = {role: np.abs(np.asarray(self.scene.inputs[role], np.float64)) for role in form.operands}
        sums = form.apply(sizes) * abs(self.op.alpha) * (numerics.terms(self.problem) + 4) * 2.0**-24
        return np.asarray(np.where(np.isfinite(sums), sums, 0.0))

    def own(self, role: str) -> Elementwise:
        return self.problem.operation.numerics.operation_of(self.problem, role)

    def type_of(self, role: str) -> Dtype:
        return self.problem.operation.numerics.multiplicand(self.problem, role)

    def name(self, role: str) -> str:
        return self.problem.operation.diagnostics.names(self.problem)[role]

    @cached_property
    def op(self) -> Elementwise:
        return self.problem.operation.numerics.epilogue(self.problem)

    def summed(self, factors: Mapping[str, Array]) -> Floats:
        """Return the sums of products of factors, which may have other types than those that are due."""
        arrays = {**self.scene.inputs, **factors}
        numerics, accumulator = self.problem.operation.numerics, accumulator_of(self.problem)
        if self.scene.ordered:
            sums = numerics.ordered_sums(self.problem, arrays, accumulator, 1)
            if sums is not None:
                return np.asarray(sums.astype(np.float64) if accumulator.name == "i32" else sums)
        form = numerics.form(self.problem)
        assert form is not None
        return form.apply({role: np.asarray(arrays[role], np.float64) for role in form.operands})

    @cached_property
    def sums(self) -> Floats:
        return self.summed({})

    @cached_property
    def values(self) -> Floats:
        """The sums after their operation, before they are rounded."""
        return through_epilogue(self.problem, self.sums.copy(), self.scene.inputs, 1)

    @cached_property
    def d(self) -> Floats:
        return np.asarray(self.scene.inputs["d0"]).astype(self.sums.dtype)

    def stored(self, values: Floats) -> Array:
        return rounded(values, self.scene.dtype)

    def finished(self, sums: Floats) -> Array:
        return self.stored(through_epilogue(self.problem, np.array(sums), self.scene.inputs, 1))

    def mistakes(self) -> Results:
        yield from self._stored()
        yield from self._finished()
        for text, kind, factors in self._factors():
            yield text, kind, self.finished(self.summed(factors))

    def _stored(self) -> Results:
        """Yield other conversions of the right values to the result's type."""
        dtype, name = self.scene.dtype, self.scene.tensor_name
        conversions = _conversions_of_floats if dtype.is_float else _conversions_of_integers
        for text, kind, cells in conversions(self.values, dtype):
            yield f"{text} in {name}", kind, cells
        for narrow in _narrower(dtype):
            text = f"results are rounded to {narrow} before they are rounded to {dtype}"
            yield text, "rounding", self.stored(rounded(self.values, narrow).astype(self.values.dtype))

    def _finished(self) -> Results:
        """Yield other ways through the operation on the sums."""
        op, v = self.op, self.sums
        for narrow in (*_narrower(self.scene.dtype), *([self.scene.dtype] if self.scene.dtype.is_float else [])):
            if op.code != 0:
                text = f"the sums are rounded to {narrow} before {op.name}"
                yield text, "rounding", self.finished(rounded(v, narrow).astype(v.dtype))
        if op.name in ("bilinear", "inplace"):
            a, b = (np.asarray(number, v.dtype) for number in (op.alpha, op.beta))
            wide = np.longdouble if v.dtype == np.float64 else np.float64
            first = (a.astype(wide) * v + (b * self.d).astype(wide)).astype(v.dtype)
            yield "beta * D is rounded before it is added to alpha * v by fma", "rounding", self.stored(first)
            yield (
                "alpha * v and beta * D are both rounded before they are added",
                "rounding",
                self.stored(a * v + b * self.d),
            )
            once = (a.astype(wide) * v + b.astype(wide) * self.d).astype(v.dtype)
            yield "alpha * v is not rounded before beta * D is added", "rounding", self.stored(once)
        yield from self._numbers()
        if op.name == "relu":
            yield "relu takes NaN for 0", "special_value", self.stored(np.where(v > 0, v, v.dtype.type(0)))
            lost = np.where((v < 0) | (v == 0), v.dtype.type(0), v)
            yield "relu loses the sign of -0", "special_value", self.stored(lost)
            yield "relu is taken of absolute values", "epilogue", self.stored(np.abs(v))
        if op.name == "pass":
            for other in ("relu", "scale"):
                text = f"an operation {other} is applied to the sums, which have none"
                yield text, "epilogue", self.stored(applied(ELEMENTWISE[other], v))

    def _numbers(self) -> Results:
        """Yield the operation on the sums with a number that another type holds: alpha, beta, or D's bits."""
        op, inputs = self.op, self.scene.inputs

        def through(op: Elementwise, arrays: Mapping[str, Array]) -> Array:
            return self.stored(through_epilogue(self.problem, self.sums.copy(), arrays, 1, op))

        for name in op.takes:
            number = getattr(op, name)
            for narrow in (DTYPES[name] for name in ("f32", "f16", "bf16")):
                held = float(rounded(np.array([number]), narrow)[0])
                if self.sums.dtype.type(held) != self.sums.dtype.type(number):
                    yield (
                        f"{name} = {number:g} is rounded to {narrow}",
                        "rounding",
                        through(replace(op, alpha=held) if name == "alpha" else replace(op, beta=held), inputs),
                    )
        if op.num_d:
            yield from self._other_d(through)

    def _other_d(self, through: Callable[[Elementwise, Mapping[str, Array]], Array]) -> Results:
        """Yield the operation on the sums with D read as elements of another type; what is past its end is open."""
        inputs, tensor = self.scene.inputs, self.problem.tensors["d0"]
        for other in dict.fromkeys((self.scene.dtype, *(DTYPES[name] for name in ("f32", "f16", "bf16")))):
            read = read_as(tensor, np.asarray(inputs["d0"]), other) if other != tensor.dtype else None
            if read is not None:
                cells = through(self.op, {**inputs, "d0": read[0]})
                text = f"D, which is {tensor.dtype}, is read as {other}"
                yield text, "epilogue", np.where(read[1], cells, self.scene.result)

    def _factors(self) -> Iterator[tuple[str, str, Mapping[str, Array]]]:
        """Yield other factors: another operation on an operand, or another type of it; of each, and of all alike."""
        of_each = {role: {text: (kind, cells) for text, kind, cells in self._of_operand(role)} for role in self.roles}
        for role, others in of_each.items():
            for text, (kind, cells) in others.items():
                yield f"{self.name(role)} {text}", kind, {role: cells}
        for text in dict.fromkeys(text for others in of_each.values() for text in others):
            changed = {role: others[text][1] for role, others in of_each.items() if text in others}
            if len(changed) > 1:
                names = format_list([self.name(role) for role in changed])
                yield f"each of {names} {text}", next(iter(of_each.values()))[text][0], changed

    def _of_operand(self, role: str) -> Results:
        own, dtype = self.own(role), self.type_of(role)
        raw = np.asarray(self.scene.operands[role])
        is_wide = raw.dtype.itemsize > 4 or raw.dtype.kind in "iu"
        wide = raw.astype(np.float64 if is_wide else np.float32)
        value = applied(own, wide)
        if own.name != "pass":
            yield f"is read without its operation, {own.name}", "epilogue", rounded(wide, dtype)
            yield f"goes through its operation, {own.name}, twice", "epilogue", rounded(applied(own, value), dtype)
        for other in (*(one for one in self.roles if one != role), ""):
            op = self.own(other) if other else self.op
            if op.name not in (own.name, "pass") and not op.num_d:
                whose = f"that of {self.name(other)}" if other else "the one on the sums"
                text = f"goes through another operation than its own: {whose}, {op.name}"
                yield text, "epilogue", rounded(applied(op, wide), dtype)
        if dtype.is_float and (own.name != "pass" or dtype != self.problem.tensors[role].dtype):
            yield f"is not rounded to {dtype} before it is multiplied", "rounding", value
            for text, kind, cells in _conversions_of_floats(value, dtype):
                yield f"is converted wrongly: {text}", kind, cells
        if own.name == "relu":
            lost = np.where(wide > 0, wide, wide.dtype.type(0))
            yield "loses NaN in relu", "special_value", rounded(lost, dtype)
        for narrow in _narrower(dtype):
            less = rounded(value, narrow).astype(wide.dtype)
            yield f"is rounded to {narrow} before it is multiplied", "rounding", less
        stored = self.problem.tensors[role].dtype
        due = rounded(value, dtype).astype(value.dtype)
        for held, cells in {stored: wide, dtype: due}.items():
            if held.is_float:
                is_tiny = np.abs(cells) < smallest_normal(held)
                for factor, words in ((0.0, "count as 0"), (0.5, "count half"), (2.0, "count twice")):
                    yield f"has subnormal numbers that {words}", "special_value", np.where(is_tiny, due * factor, due)


def _narrower(dtype: Dtype) -> Iterator[Dtype]:
    if not dtype.is_float:
        return
    for name in ("f32", "f16", "bf16"):
        if DTYPES[name].bytes < dtype.bytes or (DTYPES[name].bytes == dtype.bytes == 2 and name != dtype.name):
            yield DTYPES[name]


def _conversions_of_floats(values: Floats, dtype: Dtype) -> Results:
    near = rounded(values, dtype)
    there = values.astype(np.float64)
    low, high = _around(near, there, dtype)
    below, above = low.astype(np.float64), high.astype(np.float64)
    is_tie = (there - below == above - there) & (above != below) & np.isfinite(above - below)
    up = there > 0
    for words, cells in (
        ("cut off towards 0", np.where(up, low, high)),
        ("rounded away from 0", np.where(up, high, low)),
        ("rounded down", low),
        ("rounded up", high),
    ):
        yield f"numbers are {words} instead of rounded to nearest even", "rounding", np.asarray(cells)
    for words, cells in (
        ("away from 0", np.where(up, high, low)),
        ("towards 0", np.where(up, low, high)),
        ("up", high),
        ("down", low),
        ("away from 0 where they are negative", np.where(up, near, low)),
        ("away from 0 where they are positive", np.where(up, high, near)),
    ):
        text = f"ties are rounded {words} instead of to even"
        yield text, "rounding", np.where(is_tie, cells, near)
    most = largest(dtype)
    beyond = np.abs(there) > most
    sign = np.sign(there)
    if np.isfinite(near[np.isfinite(there)].astype(np.float64)).all():  # it saturates
        endless = _signed(dtype.numpy, np.inf, sign)
        carried = _next(rounded(most * sign, dtype), sign)
        for words, cells in (
            ("become infinity", endless),
            ("become NaN", np.full(near.shape, np.nan).astype(dtype.numpy)),
        ):
            yield (
                f"finite numbers beyond the largest {words} instead of saturating",
                "overflow",
                np.where(beyond & np.isfinite(there), cells, near),
            )
        step = most - float(_next(rounded(np.array([most]), dtype), np.array([-1.0]))[0])
        rounds = (np.abs(there) >= most + step / 2) & (np.abs(there) < most + 3 * step / 2)
        text = "numbers that a carry of their rounding takes beyond the largest do not saturate"
        yield text, "overflow", np.where(rounds, carried, near)
        yield (
            "infinity is taken for a large number",
            "overflow",
            np.where(np.isinf(there), rounded(most * sign, dtype), near),
        )
    else:
        text = "numbers beyond the largest saturate instead of becoming infinity"
        yield text, "overflow", np.where(beyond & np.isfinite(there), rounded(most * sign, dtype), near)
        yield (
            "numbers beyond the largest saturate, infinity too",
            "overflow",
            np.where(beyond, rounded(most * sign, dtype), near),
        )
    tiny = (np.abs(near.astype(np.float64)) < smallest_normal(dtype)) & (near.astype(np.float64) != 0)
    yield "subnormal results are flushed to 0", "special_value", np.where(tiny, np.zeros((), near.dtype), near)
    is_zero = near.astype(np.float64) == 0
    own = bits_of(near)
    top = own.dtype.type(1 << (8 * dtype.bytes - 1))
    yield "-0 is stored as +0", "special_value", np.where(is_zero, own & ~top, own).view(near.dtype)
    kept = np.where(is_zero & np.signbit(there), own | top, own).view(near.dtype)
    yield "negative numbers that round to 0 keep their sign bit", "special_value", kept
    yield "NaN is stored as 0", "special_value", np.where(np.isnan(there), np.zeros((), near.dtype), near)


def _signed(dtype: Any, value: float, sign: Floats) -> Array:
    return np.asarray((value * np.where(sign < 0, -1.0, 1.0)).astype(dtype))


def _around(near: Array, there: Floats, dtype: Dtype) -> tuple[Array, Array]:
    """Return the largest numbers of the type not above the values, and the smallest ones not below."""
    back = near.astype(np.float64)
    low = np.where(back > there, _next(near, np.full(near.shape, -1.0)), near)
    high = np.where(back < there, _next(near, np.full(near.shape, 1.0)), near)
    return low, high


def _next(cells: Array, direction: Floats) -> Array:
    """Return the next bits of sign and magnitude in a direction; those of NaN stay."""
    bits = bits_of(cells)
    top = bits.dtype.type(1 << (8 * bits.dtype.itemsize - 1))
    one = bits.dtype.type(1)
    negative = (bits & top) != 0
    magnitude = bits & ~top
    outwards = (direction > 0) != negative
    inwards = np.where(magnitude == 0, top ^ (bits & top) | one, (bits & top) | (magnitude - one))
    moved = np.where(outwards, (bits & top) | (magnitude + one), inwards).astype(bits.dtype)
    still = np.isnan(cells.astype(np.float64)) | (direction == 0)
    following: Array = np.where(still, bits, moved).view(cells.dtype)
    return following


def _conversions_of_integers(values: Floats, dtype: Dtype) -> Results:
    there = values.astype(np.float64)
    ends = np.iinfo(dtype.numpy)

    def held(numbers: Floats, low: int = ends.min, high: int = ends.max) -> Array:
        return np.asarray(np.clip(np.nan_to_num(numbers), low, high).astype(dtype.numpy))

    away = np.trunc(there + np.copysign(0.5, there))
    for words, numbers in (
        ("cut off", np.trunc(there)),
        ("rounded down", np.floor(there)),
        ("rounded up", np.ceil(there)),
    ):
        yield f"numbers are {words} instead of rounded to nearest even", "rounding", held(numbers)
    for words, numbers in (
        ("away from 0", away),
        ("up", np.floor(there + 0.5)),
        ("down", np.ceil(there - 0.5)),
    ):
        yield f"ties are rounded {words} instead of to even", "rounding", held(numbers)
    whole = np.rint(np.nan_to_num(there))
    safe = np.clip(whole, -(2.0**62), 2.0**62).astype(np.int64)
    yield f"numbers beyond the range of {dtype} wrap around instead of saturating", "overflow", safe.astype(dtype.numpy)
    for low, high, words in (
        (ends.min + 1, ends.max, f"numbers saturate at {ends.min + 1}, not at {ends.min}"),
        (ends.min, ends.max - 1, f"numbers saturate at {ends.max - 1}, not at {ends.max}"),
        (0, ends.max, "negative numbers saturate at 0"),
    ):
        yield words, "overflow", held(whole, low, high)
