"""The child that loads a user's declaration, and answers for it (user_declaration.py)."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Any

from bitgate.core.errors import UsageError, raised
from bitgate.core.untrusted import shown
from bitgate.kernel.build.flags import SANITIZE
from bitgate.kernel.declaration import Dispatch, Instance, KernelFamily, Refusal
from bitgate.kernel.predicates import failure
from bitgate.kernel.registry import load_here
from bitgate.kernel.user_declaration import AskPredicate, LoadFamily
from bitgate.kernel.user_operation import add_here
from bitgate.model import Accumulation, parse_case_id
from bitgate.worker import serving
from bitgate.worker.channel import Channel
from bitgate.worker.limits import bound_memory
from bitgate.worker.outside import give_up_reaching
from bitgate.worker.sandbox import enter

MOST_BYTES = 16 << 30
"""The memory of a declaration's process: far above what a runtime takes that it imports."""


def serve(channel: Channel) -> None:
    """Answer for one declaration file."""
    enter()
    give_up_reaching()
    if not os.environ.get(SANITIZE):  # its shadow memory alone is more
        bound_memory(MOST_BYTES)
    served: list[KernelFamily] = []

    def load(question: LoadFamily) -> Any:
        add_here(map(Path, question.operations))
        try:
            served.append(load_here(Path(question.path)))
        except Exception:
            raise
        except BaseException as error:  # sys.exit, a KeyboardInterrupt: here they can only be the user's
            raise UsageError(f"{question.path}: {shown(raised(error))}") from None
        with _users_code(served[0], "family"):
            return _checked(_as_json(served[0]))

    def ask(question: AskPredicate) -> Any:
        family = served[0]
        instance = family.instance(question.instance)
        assert instance is not None
        problem = parse_case_id(question.case)
        with _users_code(family, question.what):
            if question.what == "launches":
                assert family.source is not None
                return _checked(family.source.plan(problem, instance, question.options))
            predicate = family.supports if question.what == "supports" else family.dispatch
            said = predicate(problem, instance, question.options)
            return _checked(asdict(said) if isinstance(said, (Refusal, Dispatch)) else said)

    serving.serve(channel, {LoadFamily: load, AskPredicate: ask})


@contextmanager
def _users_code(family: KernelFamily, what: str) -> Iterator[None]:
    """Turn whatever the user's code raises into a UsageError, a sys.exit too."""
    try:
        yield
    except UsageError:
        raise
    except BaseException as error:
        raise UsageError(failure(what, error, family.folder)) from None


def _checked(said: Any) -> Any:
    """Return what can be an answer, of plain types: an enumeration's word is text. TypeError if it cannot."""
    return json.loads(json.dumps(said))


def _as_json(family: KernelFamily) -> dict[str, Any]:
    return {
        "name": family.name,
        "operations": list(map(str, family.operations)),
        "sources": list(family.sources),
        "generated": dict(family.generated),
        "folder": str(family.folder),
        "platforms": list(family.platforms),
        "instances": [_instance_as_json(instance) for instance in family.instances],
        "options": [asdict(option) for option in family.options],
        "is_reference": family.is_reference,
        "is_probe": family.is_probe,
        "library": None if family.library is None else str(family.library),
        "changes": list(family.changes),
        "is_captured": family.is_captured,
        "is_opened": family.opens is not None,
        "kernels": None if family.source is None else list(family.source.kernels),
        "include_dirs": list(family.include_dirs),
        "flags": family.flags,
        "defines": dict(family.defines),
        "libraries": list(family.libraries),
    }


def _instance_as_json(instance: Instance) -> dict[str, Any]:
    stated = instance.accumulation
    contracts = {"": stated} if isinstance(stated, Accumulation) else dict(stated)
    return {
        **{name: value for name, value in vars(instance).items() if name not in ("accumulation", "operations")},
        "operations": None if instance.operations is None else list(map(str, instance.operations)),
        "accumulation": {
            dtypes: {
                "accumulator": contract.accumulator.name,
                "partial": None if contract.partial is None else contract.partial.name,
                "measured_range": contract.measured_range,
                "flushes_subnormals": contract.flushes_subnormals,
            }
            for dtypes, contract in contracts.items()
        },
    }
