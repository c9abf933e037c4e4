"""benchdnn's types and memory tags, as its options spell them."""

from __future__ import annotations

import re

from bitgate.model.dtype import DtypeSet
from bitgate.model.problem import ProblemError

DTYPES = {
    "f64": "f64",
    "f32": "f32",
    "f16": "f16",
    "bf16": "bf16",
    "s8": "i8",
    "s32": "i32",
    "f8_e4m3": "f8ocp",
    "f8_e5m2": "bf8ocp",
}
_CONFIGURATION = re.compile("(?:" + "|".join(sorted(DTYPES, key=len, reverse=True)) + ")")


def dtypes_of(value: str) -> DtypeSet:
    """Parse ``--dt``: one name for all tensors, or source, weights and destination."""
    names = value.split(":")
    if len(names) not in (1, 3) or any(name not in DTYPES for name in names):
        raise ProblemError(f"types '{value}' (--dt, --cfg) are not understood: one or three of {', '.join(DTYPES)} are")
    return DtypeSet.parse("_".join(DTYPES[name] for name in names))


def types_of_configuration(value: str) -> str:
    """Spell ``--cfg=s8s8s32``, the option of older releases, as ``--dt`` does; return other values unchanged."""
    names = _CONFIGURATION.findall(value)
    return ":".join(names) if "".join(names) == value else value


def bias_of(value: str, result: str) -> bool:
    """Parse ``--bia-dt``: return whether there is a bias where its type alone decides."""
    if value in ("undef", ""):
        return False
    if DTYPES.get(value) != result:
        raise ProblemError(f"--bia-dt={value}: a bias has the result's type here, {result}")
    return True


def letters_of(tag: str, ndims: int) -> str:
    """Spell a plain tag of ``a``, ``b`` .. in the order of memory, slowest first.

    Of four axes ``axb`` is ``acdb`` and ``aby`` is ``abdc``. Other tags come back unchanged.
    """
    rest = "abcdefghijkl"[2:ndims]
    every = f"ab{rest}"
    expanded = {"aby": every[:-2] + every[:-3:-1]}
    expanded |= {"abx": every, "axb": f"a{rest}b", "xab": f"{rest}ab", "xba": f"{rest}ba", "bax": f"ba{rest}"}
    return expanded.get(tag, tag)
