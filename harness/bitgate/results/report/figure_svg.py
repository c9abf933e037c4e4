"""Figures as one SVG file: squares, bars and trees below each other, then lines of text."""

from __future__ import annotations

from collections.abc import Sequence
from xml.sax.saxutils import escape, quoteattr

import numpy as np

from bitgate.model.figure import (
    PADDING,
    PLAIN,
    UNLAUNCHED,
    UNREACHED,
    BarFigure,
    Figure,
    Span,
    SquaresFigure,
    Swatch,
    TreeFigure,
)

WIDTH, MARGIN, LINE, SMALL = 760, 16, 17, 14
INK, FAINT = "#24292f", "#d0d7de"
COLOURS = (
    ("#9ecae1", "#6baed6"),
    ("#fdd0a2", "#fdae6b"),
    ("#c7e9c0", "#98d594"),
    ("#dadaeb", "#b5b2d8"),
    ("#fee391", "#f5c94c"),
    ("#fbb4c9", "#f08bab"),
    ("#b2e2e2", "#7fcdcd"),
    ("#e0cda9", "#c9ad78"),
    ("#d9d9d9", "#bdbdbd"),
    ("#f7b6a2", "#ef8f72"),
    ("#d4e79e", "#b5d15c"),
    ("#c5b0f0", "#9f80e0"),
)
"""Two shades of each colour; sub-GEMMs beyond the last begin again, and have their number in the picture."""
STYLES = {PLAIN: "#f6f8fa", PADDING: "url(#padding)", UNREACHED: "#ffffff", UNLAUNCHED: "url(#unlaunched)"}
PATTERNS = (
    '<pattern id="padding" width="6" height="6" patternUnits="userSpaceOnUse">'
    '<rect width="6" height="6" fill="#f6f8fa"/><path d="M0 6L6 0" stroke="#8c959f"/></pattern>'
    '<pattern id="unlaunched" width="5" height="5" patternUnits="userSpaceOnUse">'
    '<rect width="5" height="5" fill="#ffebe9"/>'
    '<path d="M0 0L5 5M0 5L5 0" stroke="#cf222e" stroke-width="0.7"/></pattern>'
)
MOST_KEYS = 18
MOST_STEPS = 96
MOST_NODES = 16
MOST_LINES = 60
LONGEST, NOTE = 110, 52
"""Characters of a line of text, and of one beside a tree: longer ones go on in the next."""


def svg_of(title: str, figures: Sequence[Figure], lines: Sequence[str]) -> str:
    """Return the file's text."""
    page = _Page()
    page.text(title, size=14, bold=True)
    for figure in figures:
        page.skip(10)
        page.text(figure.title)
        if isinstance(figure, SquaresFigure):
            _squares(page, figure)
        elif isinstance(figure, BarFigure):
            _bar(page, figure)
        else:
            _tree(page, figure)
    page.skip(8)
    for line in lines[:MOST_LINES]:
        for part in _wrapped(line):
            page.text(part, size=11)
    height = page.y + MARGIN
    head = f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" font-family="sans-serif" role="img"'
    body = "\n".join(page.parts)
    ground = f'<rect width="{WIDTH}" height="{height}" fill="#ffffff"/>'
    return f"{head} aria-label={quoteattr(title)}>\n<defs>{PATTERNS}</defs>\n{ground}\n{body}\n</svg>\n"


class _Page:
    """The elements so far, and how far down they reach."""

    def __init__(self) -> None:
        self.parts: list[str] = []
        self.y = MARGIN

    def skip(self, by: int) -> None:
        self.y += by

    def text(self, words: str, *, size: int = 12, bold: bool = False) -> None:
        """Add a line of text below everything."""
        self.y += LINE
        self.put(words, MARGIN, self.y, size, bold=bold)

    def put(self, words: str, x: float, y: float, size: int, *, bold: bool = False, middle: bool = False) -> None:
        weight = ' font-weight="bold"' if bold else ""
        anchor = ' text-anchor="middle"' if middle else ""
        attributes = f'x="{x:g}" y="{y:g}" font-size="{size}" fill="{INK}" xml:space="preserve"{weight}{anchor}'
        self.parts.append(f"<text {attributes}>{escape(words)}</text>")

    def add(self, element: str) -> None:
        self.parts.append(element)


def _fill(key: Swatch, dark: bool) -> str:
    if key.style in STYLES:
        return STYLES[key.style]
    return COLOURS[int(key.style.removeprefix("colour")) % len(COLOURS)][dark]


def _squares(page: _Page, figure: SquaresFigure) -> None:
    rows, columns = figure.keys_at.shape
    side = max(5, min(18, (WIDTH - 2 * MARGIN) // columns, 480 // rows))
    top, left = page.y + 8, MARGIN
    for number, key in enumerate(figure.keys):
        for dark in (False, True):
            at = np.argwhere((figure.keys_at == number) & (figure.dark == dark))
            if len(at):
                path = "".join(f"M{left + x * side} {top + y * side}h{side - 1}v{side - 1}h-{side - 1}z" for y, x in at)
                border = f' stroke="{FAINT}" stroke-width="0.6"' if key.style in (UNREACHED, PLAIN) else ""
                page.add(f'<path fill="{_fill(key, dark)}"{border} d="{path}"/>')
    for y, x, words in figure.texts:
        if side >= 7 * len(words) or side >= 9:
            page.put(words, left + (x + 0.5) * side - 0.5, top + (y + 0.76) * side, min(10, side - 2), middle=True)
    if figure.marked and 0 <= figure.marked[0] < rows and 0 <= figure.marked[1] < columns:
        y, x = figure.marked
        page.add(_outline(left + x * side, top + y * side, side, 2.4))
    page.y = top + rows * side + 14
    page.put(_axes(figure.down, figure.across), left, page.y - 3, 10)
    _legend(page, figure)


def _outline(x: float, y: float, side: int, width: float) -> str:
    size = side - 1
    return f'<rect x="{x}" y="{y}" width="{size}" height="{size}" fill="none" stroke="#cf222e" stroke-width="{width}"/>'


def _axes(down: Span, across: Span) -> str:
    """Format what is drawn: ``h -1 to 28 down, w -1 to 28 across``."""
    spans = [(down, "down")] * bool(down.name) + [(across, "across")]
    return ", ".join(f"{span.name} {span.first} to {span.first + span.count - 1} {way}" for span, way in spans)


def _legend(page: _Page, figure: SquaresFigure) -> None:
    x, y = MARGIN, page.y + SMALL
    shown = figure.keys if len(figure.keys) <= MOST_KEYS else figure.keys[:MOST_KEYS]
    more = [Swatch(PLAIN, f"and {len(figure.keys) - MOST_KEYS} more")] * (len(figure.keys) > MOST_KEYS)
    marked = [Swatch("mark", "the cell")] * (figure.marked is not None)
    for key in (*shown, *more, *marked):
        needed = 22 + 7 * len(key.words)
        if x + needed > WIDTH - MARGIN:
            x, y = MARGIN, y + SMALL
        if key.style == "mark":
            page.add(_outline(x, y - 9, 11, 2.4))
        else:
            page.add(f'<rect x="{x}" y="{y - 9}" width="10" height="10" fill="{_fill(key, False)}" stroke="{FAINT}"/>')
        page.put(key.words, x + 14, y, 11)
        x += needed
    page.y = y


def _bar(page: _Page, figure: BarFigure) -> None:
    """Draw a box a step; slices alternate in colour, and steps that are not full are half as high."""
    steps = figure.steps
    shown = min(steps.count, MOST_STEPS)
    width = min(40.0, (WIDTH - 2 * MARGIN) / shown)
    top = page.y + 6
    each = max(1, len(steps.slice(0)))
    for number in range(shown):
        is_tail = steps.tail > 0 and number % steps.of_run == steps.of_run - 1
        colour = COLOURS[number // each % len(COLOURS)][number // steps.of_run % 2]
        box = f'x="{MARGIN + number * width:g}" y="{top + 9 * is_tail}" width="{max(1.0, width - 1):g}"'
        page.add(f'<rect {box} height="{18 - 9 * is_tail}" fill="{colour}"/>')
    for number, label in enumerate(figure.labels):
        first = steps.slice(number)
        if first and first[0] < shown and len(first) * width > 6 * len(label):
            page.put(label, MARGIN + first[0] * width, top + 30, 10)
    page.y = top + (32 if figure.labels else 20)
    if shown < steps.count:
        page.text(f"{steps.count - shown} more steps follow", size=10)


def _tree(page: _Page, figure: TreeFigure) -> None:
    """Draw a row of nodes a level, and lines from each to the one that combines it."""
    left, height = 260, 48
    before: list[float] = []
    for level in figure.levels:
        y = page.y + 14
        shown = min(level.count, MOST_NODES)
        step = (WIDTH - MARGIN - left) / MOST_NODES
        first = left + (MOST_NODES - shown) * step / 2
        at = [first + (number + 0.5) * step for number in range(shown)]
        for number, x in enumerate(before):
            end = at[number * shown // len(before)]
            page.add(f'<path d="M{x:g} {y - height + 18}L{end:g} {y}" stroke="{FAINT}"/>')
        for x in at:
            page.add(f'<rect x="{x - 9:g}" y="{y}" width="18" height="12" rx="2" fill="{COLOURS[0][1]}"/>')
        if shown < level.count:
            page.put("...", at[-1] + 12, y + 10, 11)
        page.put(f"{level.count} {level.noun}{'s' * (level.count > 1)}", MARGIN, y + 10, 12, bold=True)
        for number, line in enumerate(_wrapped(level.how, NOTE)[:2]):
            page.put(line.strip(), MARGIN, y + 22 + 11 * number, 9)
        page.y, before = y + height - 14, at
    page.skip(8)


def _wrapped(line: str, longest: int = LONGEST) -> list[str]:
    """Return a line in parts that fit; those after the first are indented."""
    if len(line) <= longest:
        return [line]
    cut = line.rfind(" ", 0, longest)
    cut = cut if cut > longest // 2 else longest
    return [line[:cut], *_wrapped("      " + line[cut:].strip(), longest)]
