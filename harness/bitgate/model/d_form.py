"""The form of a D tensor that is not laid out like the result: a separate layout, type, and axes of one value. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from bitgate.model.dtype import Dtype
from bitgate.model.problem import ProblemError


@dataclass(frozen=True)
class DForm:
    """The form of D, by what differs from the result's: ``dlgnhwc_dtf32_dbhw`` in a case id.

    ``layout``: its name in case ids. ``broadcast``: letters of the result's axes along which D has one value.
    """

    layout: str = ""
    dtype: Dtype | None = None
    broadcast: str = ""

    @property
    def words(self) -> tuple[str, ...]:
        """The words of case ids, the layout first."""
        parts = (("dl", self.layout), ("dt", str(self.dtype or "")), ("db", self.broadcast))
        return tuple(prefix + text for prefix, text in parts if text)

    @property
    def differs(self) -> tuple[str, ...]:
        """Names, for a declaration, of what differs: ``layout``, ``broadcast``, or the name of the type."""
        parts = ("layout" if self.layout else "", "broadcast" if self.broadcast else "", str(self.dtype or ""))
        return tuple(filter(None, parts))

    @property
    def plainer(self) -> tuple[DForm, ...]:
        """The forms that are one step plainer."""
        fewer = (replace(self, broadcast=self.broadcast.replace(letter, "")) for letter in self.broadcast)
        ways = (replace(self, layout=""), replace(self, dtype=None), *fewer)
        return tuple(form for form in ways if form != self)

    def settled(self, layouts: Sequence[str], plain: str, dtype: Dtype, letters: str) -> DForm:
        """Return the form as case ids write it, next to a result of the layout ``plain``.

        ``layouts``: those that D may have; ``letters``: the axes in logical order. ProblemError for what cannot be.
        """
        if self.layout and self.layout not in layouts:
            raise ProblemError(f"dl{self.layout}: the layouts of D are {', '.join(layouts)}")
        if self.dtype is not None and not self.dtype.is_operand:
            raise ProblemError(f"dt{self.dtype}: only sums have that type")
        if self.dtype is not None and self.dtype.name == "f64" and dtype.name != "f64":
            raise ProblemError(f"dtf64: the sums of a result of {dtype} do not hold such a D")
        strange = [letter for letter in self.broadcast if letter not in letters]
        if strange or len(set(self.broadcast)) < len(self.broadcast):
            raise ProblemError(f"db{self.broadcast}: name each axis of {letters} at most once")
        return DForm(
            "" if self.layout == plain else self.layout,
            None if self.dtype == dtype else self.dtype,
            "".join(letter for letter in letters if letter in self.broadcast),
        )


PLAIN = DForm()
"""The form of a D that is laid out like the result."""
