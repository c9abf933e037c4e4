"""A failure as the page shows it: sentence, picture, cells, certificate, dispatch, place, repro line."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from bitgate.results.record import Outcome, Verdict
from bitgate.results.report.page.past import TestedKey
from bitgate.results.report.page.picture import Picture, picture_of
from bitgate.results.report.page.shown import SENTENCE, WORD, clean, entries
from bitgate.results.report.result import CELLS_SHOWN, place_of, sentence_of

FACTS = ("host", "gpu", "os", "driver", "runtime", "compiler", "commit", "build", "guards", "unchecked")
"""Facts of a fingerprint that are shown, in this order."""


@dataclass(frozen=True)
class FailurePanel:
    """Everything that is shown of one failure; all texts are clean, and the picture is drawn."""

    key: TestedKey
    number: int
    target: str
    device: str
    outcome: str
    case: str
    human: str
    kernel: str
    how: str
    kinds: str
    sentence: str
    reason: str
    picture: Picture | None
    header: tuple[str, ...]
    cells: tuple[tuple[str, ...], ...]
    certificate: str
    dispatch: tuple[tuple[str, str], ...]
    place: tuple[tuple[str, str], ...]
    log: str
    repro: str
    foreign: str
    known: tuple[tuple[str, str], ...]
    row: str

    @property
    def size(self) -> int:
        """The bytes that it takes in the page, about."""
        texts = [*vars(self).values(), *map("".join, (*self.cells, *self.dispatch, *self.place, *self.known))]
        return (
            2500
            + sum(len(text) for text in texts if isinstance(text, str))
            + (self.picture.size if self.picture else 0)
        )


def panel_of(verdict: Verdict, number: int, device: str, *, draws: bool = True) -> FailurePanel:
    """Return the panel of a verdict, with a picture of its wrong cells unless ``draws`` is false."""
    key = verdict.key
    header, cells = _cells(verdict)
    sentence = clean(sentence_of(verdict), SENTENCE)
    reason = clean(verdict.reason, SENTENCE)
    log = verdict.where.get("log", "")
    return FailurePanel(
        key=(key, verdict.test),
        number=number,
        target=clean(key.target),
        device=device,
        outcome=verdict.outcome.value,
        case=clean(key.case),
        human=clean(verdict.human),
        kernel=clean(key.name),
        how=how_of(verdict),
        kinds=clean(", ".join(verdict.diagnosis.kinds)) if verdict.diagnosis else "",
        sentence=sentence,
        reason="" if reason == sentence else reason,
        picture=picture_of(verdict.view, key.case) if draws else None,
        header=header,
        cells=cells,
        certificate=_certificate(verdict),
        dispatch=tuple(entries(verdict.dispatch)),
        place=tuple(_place(verdict)),
        log=clean(log, 1000) if log.startswith(("https://", "http://")) and len(log) <= 1000 else "",
        repro=clean(verdict.repro, SENTENCE),
        foreign=clean(verdict.foreign, SENTENCE),
        known=tuple(entries(verdict.known_bug)),
        row=clean(verdict.row),
    )


def how_of(verdict: Verdict) -> str:
    """Format options, fill, seed and schedule, each only where it differs from the default."""
    key = verdict.key
    options = [f"{name}={value}" for name, value in key.options]
    special = [key.fill] * (key.fill != "exact") + [f"seed {key.seed}"] * (key.seed != 0)
    return clean(" ".join([*options, *special, *[key.schedule] * (key.schedule != "forward")]))


def _cells(verdict: Verdict) -> tuple[tuple[str, ...], tuple[tuple[str, ...], ...]]:
    """Return header and rows of the first wrong cells, empty if none is known."""
    evidence = verdict.diagnosis.evidence if verdict.diagnosis else {}
    rows = evidence.get("first_wrong_cells") if isinstance(evidence, Mapping) else None
    found = [row for row in (rows if isinstance(rows, list) else [])[:CELLS_SHOWN] if isinstance(row, Mapping)]
    if not found:
        return (), ()
    places = [list(at)[:8] if isinstance(at := row.get("at"), (list, tuple)) else [at] for row in found]
    width = max(map(len, places))
    axes = verdict.view.get("axes") if isinstance(verdict.view, Mapping) else None
    named = axes if isinstance(axes, (list, tuple)) and len(axes) == width else [""] * width
    cells = [
        (
            *(clean(at, 20) for at in place),
            *[""] * (width - len(place)),
            _value(row, "result"),
            _value(row, "reference"),
        )
        for place, row in zip(places, found, strict=True)
    ]
    return (*(clean(axis, 16) for axis in named), "result", "reference"), tuple(cells)


def _value(row: Mapping[str, Any], name: str) -> str:
    return clean(row.get(name), 40)


def _certificate(verdict: Verdict) -> str:
    found = verdict.certificate
    if found is None:
        return ""
    if not found.holds:
        return clean(f"no claim of exactness; {found.note}".rstrip("; "))
    sensitivity = "not measured" if found.sensitivity is None else f"{found.sensitivity:.4g}"
    parts = [f"sums of at most {found.bound} grid units, exact below {found.exact_range}"]
    parts += [f"density {found.density:.4g}", f"sensitivity {sensitivity}", found.note]
    return clean("; ".join(filter(None, parts)), WORD)


def _place(verdict: Verdict) -> list[tuple[str, str]]:
    """Return where the case ran, and on what: names and values."""
    device = " ".join(filter(None, (verdict.device_name, f"({verdict.device_kind})" if verdict.device_kind else "")))
    found = [("ran on", place_of(verdict) or verdict.fingerprint.get("host", "")), ("device", device)]
    found += [(name, verdict.fingerprint.get(name, "")) for name in FACTS]
    if verdict.run:
        run = verdict.run
        found.append(("run", " ".join(filter(None, (run.id, f"attempt {run.attempt}", run.time, run.shard, run.job)))))
    return [(name, clean(value)) for name, value in found if value not in ("", "unknown", "none")]


def is_shown(verdict: Verdict) -> bool:
    """Return whether a verdict gets a panel: it is red, or a known bug."""
    return not verdict.green or verdict.outcome is Outcome.KNOWN_BUG
