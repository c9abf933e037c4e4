"""The wall and the Runner protocol hold for what comes later: an operation that bitgate does not know, on a kernel that
is no library."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from threading import Timer

import numpy as np
import pytest
from tests.verify.softmax.callable_runner import CallableRunner
from tests.verify.softmax.softmax_rows import SOFTMAX, SoftmaxExactness, SoftmaxProblem, peaked

from bitgate.core.errors import UsageError
from bitgate.kernel.declaration import Instance, KernelFamily, Refusal
from bitgate.kernel.resolved import kernel_called
from bitgate.model import F32_ACCUMULATION, Fill
from bitgate.model.numerics import Numerics
from bitgate.results.record import Outcome, Verdict
from bitgate.verify.pipeline import verify
from bitgate.verify.planned import PlannedCase
from bitgate.verify.session import Session

PEAKED_ALONE = (Fill("peaked", "one winner a row", peaked, exact=True),)
CASE = SoftmaxProblem(7, 50)


def right(problem, views) -> None:
    x = views["x"]
    above = np.exp(x - x.max(axis=1, keepdims=True))
    views["y"][...] = above / above.sum(axis=1, keepdims=True)


def forgets_the_last_column(problem, views) -> None:
    x = views["x"][:, :-1]
    above = np.exp(x - x.max(axis=1, keepdims=True))
    views["y"][:, :-1] = above / above.sum(axis=1, keepdims=True)
    views["y"][:, -1] = 0


def without_the_maximum(problem, views) -> None:
    with np.errstate(over="ignore", invalid="ignore"):
        above = np.exp(views["x"])
        views["y"][...] = above / above.sum(axis=1, keepdims=True)


def another_base(problem, views) -> None:
    x = views["x"]
    above = np.exp2(x - x.max(axis=1, keepdims=True))
    views["y"][...] = above / above.sum(axis=1, keepdims=True)


def changes_its_input(problem, views) -> None:
    right(problem, views)
    views["x"][0, 0] = 1234


def writes_past_the_end(problem, views) -> None:
    right(problem, views)
    y = views["y"]
    np.lib.stride_tricks.as_strided(y, (problem.rows + 1, problem.columns), y.strides)[-1, 0] = 1


def idle(problem, views) -> None:
    pass


def returns_too_early(problem, views) -> None:
    """Right, in a thread that has ended when the results are read."""
    Timer(0.02, right, (problem, views)).start()


def all_nan(problem, views) -> None:
    views["y"][...] = np.nan


def raises(problem, views) -> None:
    raise RuntimeError("no such device")


FUNCTIONS = (
    right,
    forgets_the_last_column,
    without_the_maximum,
    another_base,
    changes_its_input,
    writes_past_the_end,
    idle,
    returns_too_early,
    all_nan,
    raises,
)


def supports(problem, instance, options) -> Refusal | None:
    return Refusal("columns", f"{problem.columns} columns: at most 1000") if problem.columns > 1000 else None


FAMILY = KernelFamily(
    name="numpy_softmax",
    operations=("softmax",),
    folder=Path(__file__).parent,
    platforms=("host",),
    instances=tuple(
        Instance(function.__name__, "numpy", ("f32",), ("rc",), (0,), F32_ACCUMULATION) for function in FUNCTIONS
    ),
    supports=supports,
    opens=lambda family, instance, options: CallableRunner(family, instance, globals()[instance.name]),
)


@pytest.fixture(scope="module")
def session() -> Session:
    session = Session("host", progress=lambda line: None)
    session.families = {**session.families, FAMILY.name: FAMILY}
    return session


def verdict_on(session: Session, function: Callable[..., None], fill: str = "peaked", **more) -> Verdict:
    problem = more.pop("problem", CASE)
    return verify(
        PlannedCase(problem, kernel_called(session.families, FAMILY.name, function.__name__), fill=fill, **more),
        session,
    )


def test_a_right_function_passes_by_exact_bits_and_stated_bound(session) -> None:
    verdict = verdict_on(session, right)
    assert (verdict.outcome, verdict.reference, verdict.compared) == (Outcome.PASS, "exact", True), verdict.reason
    assert verdict.digest.startswith("bg1:")
    assert verdict.certificate
    assert "whose exp is 0 in f32" in verdict.certificate.note
    decimal = verdict_on(session, right, "decimal")
    assert (decimal.outcome, decimal.reference, decimal.digest) == (Outcome.PASS, "bounds", ""), decimal.reason
    assert 0 < decimal.error["of_bound"] < 1


def test_what_could_not_be_looked_at_is_stated(session) -> None:
    facts = verdict_on(session, right).fingerprint
    assert facts["unchecked"] == "capsule,capture,independent_listing,launch_log,schedules,workspace"
    assert facts["build"] == session.opened.runner(kernel_called(session.families, FAMILY.name, "right")).content_key
    assert facts["build"] != session.opened.runner(kernel_called(session.families, FAMILY.name, "idle")).content_key


@pytest.mark.parametrize(
    ("function", "fill", "outcome", "words"),
    [
        (forgets_the_last_column, "peaked", Outcome.MISMATCH, "cells of y are wrong"),
        (without_the_maximum, "peaked", Outcome.MISMATCH, "cells of y are wrong"),
        (another_base, "decimal", Outcome.MISMATCH, "cells of y are wrong"),
        (idle, "peaked", Outcome.MISMATCH, "nothing was written"),
        (changes_its_input, "peaked", Outcome.CORRUPTED, "input x was changed: 1 of 350 elements"),
        (writes_past_the_end, "peaked", Outcome.CORRUPTED, "past the end of buffer y (1400 bytes) was written"),
        (returns_too_early, "peaked", Outcome.CORRUPTED, "wrote to the caller's buffers after it had returned"),
        (raises, "peaked", Outcome.CRASHED, "raises: RuntimeError: no such device"),
    ],
)
def test_a_wrong_function_is_red(session, function, fill, outcome, words) -> None:
    verdict = verdict_on(session, function, fill)
    assert verdict.outcome is outcome, verdict.reason
    assert words in verdict.reason


def test_real_numbers_without_a_bound_are_not_run(session, monkeypatch) -> None:
    """Expected, since it is the operation that says nothing: as in a table, so from the command line."""
    monkeypatch.setattr(SoftmaxExactness, "bound", Numerics.bound)
    verdict = verdict_on(session, idle, "decimal", seed=7)
    assert (verdict.outcome, verdict.green) == (Outcome.NOT_RUN, True)
    assert verdict.reason == "no bound stated: softmax does not state how far real numbers may be off"
    monkeypatch.setattr(SoftmaxExactness, "fills", lambda self, problem: PEAKED_ALONE)
    verdict = verdict_on(session, idle, "decimal", seed=8)
    assert verdict.reason == "no bound stated: softmax has no fill of real numbers and no bound for them"


def test_a_reference_that_is_nan_throughout_shows_nothing(session, monkeypatch) -> None:
    monkeypatch.setattr(type(SOFTMAX), "reference", lambda self, problem, inputs: {"y": inputs["x"] * np.nan})
    verdict = verdict_on(session, all_nan, seed=9)
    assert (verdict.outcome, verdict.shows) == (Outcome.PASS, False)
    assert verdict.reason.startswith("the expected result is NaN in every cell")


def test_the_declaration_alone_refuses(session) -> None:
    verdict = verdict_on(session, right, problem=SoftmaxProblem(2, 1001))
    assert (verdict.outcome, verdict.reason) == (Outcome.REFUSED, "columns: 1001 columns: at most 1000")


@pytest.mark.parametrize("schedule", ["reverse", "race"])
def test_a_thread_order_that_nobody_keeps_is_an_error(session, schedule) -> None:
    with pytest.raises(UsageError, match="orders no threads of numpy_softmax"):
        verdict_on(session, right, schedule=schedule)
