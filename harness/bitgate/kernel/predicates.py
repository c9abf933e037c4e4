"""Guards around a declaration's ``supports`` and ``dispatch``: a user's code can raise and return anything."""

from __future__ import annotations

import traceback
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any, TypeVar

from msgspec import Meta, Struct, ValidationError, convert

from bitgate.core.errors import UsageError, raised, traceback_of
from bitgate.core.untrusted import shown
from bitgate.kernel.declaration import Dispatch, Instance, KernelFamily, Refusal

Answer = TypeVar("Answer", Refusal, Dispatch)
Text = Annotated[str, Meta(max_length=4096)]
Integer = Annotated[int, Meta(ge=-(1 << 63), le=(1 << 63) - 1)]


class PredicateFailed(UsageError):
    """A predicate that raised, or that answered with something else than it may."""


class _Refusal(Struct, forbid_unknown_fields=True):
    clause: Text
    text: Text


class _Dispatch(Struct, forbid_unknown_fields=True):
    path: Text
    launches: Integer
    zero_fill: bool
    transposes: Integer
    workspace_bytes: Integer
    facts: dict[Text, Integer | Text]


def checked_answer(kind: type[Answer], found: object, what: str) -> Answer | None:
    """Return the answer, or None for None. TypeError, with the field that is wrong, for anything else."""
    if found is None:
        return None
    if not isinstance(found, kind):
        raise TypeError(f"{what} returned {shown(repr(found))}: return None or a {kind.__name__}")
    shape: Any = _Refusal if kind is Refusal else _Dispatch
    try:
        convert(found, shape, from_attributes=True)
        for text in _texts(vars(found)):
            text.encode()  # half of a surrogate pair is none
    except (ValidationError, AttributeError, UnicodeEncodeError) as error:
        raise TypeError(f"{what} returned a {kind.__name__} that is none: {shown(error)}") from None
    return found


def _texts(fields: Mapping[str, Any]) -> Iterator[str]:
    for name, value in fields.items():
        yield name
        if isinstance(value, Mapping):
            yield from _texts(value)
        elif isinstance(value, str):
            yield value


def guarded(family: KernelFamily) -> KernelFamily:
    """Return the family with predicates that answer with what they may, or raise PredicateFailed."""

    def supports(problem: Any, instance: Instance, options: Mapping[str, str]) -> Refusal | None:
        try:
            return checked_answer(Refusal, family.supports(problem, instance, options), "supports")
        except PredicateFailed:  # of a family that was guarded before
            raise
        except Exception as error:
            raise PredicateFailed(failure("supports", error, family.folder)) from None

    def dispatch(problem: Any, instance: Instance, options: Mapping[str, str]) -> Dispatch | None:
        try:
            return checked_answer(Dispatch, family.dispatch(problem, instance, options), "dispatch")
        except PredicateFailed:  # of a family that was guarded before
            raise
        except Exception as error:
            raise PredicateFailed(failure("dispatch", error, family.folder)) from None

    return replace(family, supports=supports, dispatch=dispatch)


def failure(what: str, error: BaseException, folder: Path) -> str:
    """Return what a user's code raised, with the last line of that code in the traceback."""
    frames = [f for f in traceback.extract_tb(traceback_of(error)) if Path(f.filename).is_relative_to(folder)]
    where = f"{Path(frames[-1].filename).name}:{frames[-1].lineno}: " if frames else ""
    return f"{folder}: {what}: {where}{shown(raised(error))}"
