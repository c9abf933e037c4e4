"""benchdnn's post-ops, as far as an element-wise operation here says them: ``sum:0.5``, ``relu``."""

from __future__ import annotations

from bitgate.model.elementwise import ELEMENTWISE, Elementwise
from bitgate.model.problem import ProblemError

OPTION = "attr-post-ops"
_NEUTRAL = ("", "0")
"""Values of what may follow a scale (zero point) or a relu (its slope) that change nothing."""


def operation_of(value: str, dtype: str, *, bias: bool, forward: bool = True) -> Elementwise:
    """Return the operation on the sums that a bias and ``--attr-post-ops`` stand for; ``dtype`` is the result's type in
    benchdnn's words.

    ``sum:SCALE`` adds the old result times the scale, 1 unless stated: D in place, with alpha 1 and beta. ProblemError
    says why others cannot be said.
    """
    if not value:
        return ELEMENTWISE["bias" if bias else "pass"]
    try:
        if not forward:
            raise ProblemError("a backward pass has none")
        if "+" in value:
            raise ProblemError("an operation here does one thing after the sums, not a chain")
        if bias:
            raise ProblemError("an operation here does one thing after the sums, and that is the bias")
        name, *words = value.split(":")
        if name == "relu" and all(word in _NEUTRAL for word in words):
            return ELEMENTWISE["relu"]
        if name != "sum":
            raise ProblemError("sum[:SCALE] and relu are understood")
        scale, zero_point, own, *rest = (*words, *("1", "", "")[len(words) :])
        if rest or zero_point not in _NEUTRAL or own not in ("", dtype):
            raise ProblemError("the old result is in the result's buffer and type, and without a zero point")
        return ELEMENTWISE["inplace"].with_factors({"alpha": 1.0, "beta": _number(scale)})
    except ProblemError as error:
        raise ProblemError(f"--{OPTION}={value} is not understood: {error}") from None


def _number(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise ProblemError(f"'{text}' is not a number") from None
