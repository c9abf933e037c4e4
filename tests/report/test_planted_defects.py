"""Eight kinds of defect, planted in real kernels: the picture of the page and the sentence say the same."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

import pytest
from tests.report.test_page import made
from tests.report.views import squares

from bitgate.core.project import ours
from bitgate.kernel.build.builder import Builder
from bitgate.kernel.registry import families
from bitgate.kernel.resolved import kernel_called
from bitgate.model import parse_case_id
from bitgate.results.record import Verdict
from bitgate.results.report.page.failure import panel_of
from bitgate.results.report.page.picture import Picture
from bitgate.tools.faults.fault import read_faults
from bitgate.tools.faults.mutation.library import build
from bitgate.tools.faults.mutation.seeded import mutant_of
from bitgate.tools.faults.mutation.switching import SwitchedProcess, open_pool
from bitgate.verify.planned import PlannedCase
from bitgate.verify.process import BITS, Opening

DEFECTS = Path(__file__).parent / "planted" / "defects.toml"
SECONDS = 300.0
SMALL, LARGE = "batched_gemm.f32_rcr_32x32x16_a1b1c1", "batched_gemm.f32_rcr_128x64x32_a4b4c4"
NAIVE = "naive_conv.fwd_f32"


class Planted(NamedTuple):
    """One defect: where it shows, what the sentence says, and which squares are painted as what.

    ``before`` is a case that the same process has run, ``box`` the first and last row and column that are wrong.
    """

    kernel: str
    case: str
    words: tuple[str, ...]
    parts: frozenset[str]
    caption: str
    box: tuple[int, int, int, int]
    before: str = ""


PLANTED = {
    "tail": Planted(
        SMALL,
        "gemm_f32_rcr_b2m40n40k20",
        ("240 of 3200", "only in the last 3 channels of N = 40, within n 37 to 39", "never written"),
        frozenset({"poison"}),
        "b 0 to 1: m 40 down, n 40 across",
        (0, 39, 37, 39),
    ),
    "border": Planted(
        NAIVE,
        "fwd_f32_nhwgc_g1n2k8c5_y3x3_h8x8_p1x1",
        ("448 of 1024",),
        frozenset({"other"}),
        "g 0, n 0 to 1: h 8 down, w 8 across; k 8 folded",
        (0, 7, 0, 7),
    ),
    "wrong_group": Planted(
        NAIVE,
        "fwd_f32_nhwgc_g3n2k8c5_y3x3_h8x8_p1x1",
        ("w is read at g 0 for every g", "only in groups 1 and 2 of 3"),
        frozenset({"other"}),
        "g 1 to 2, n 0 to 1: h 8 down, w 8 across; k 8 folded",
        (0, 7, 0, 7),
    ),
    "race": Planted(
        LARGE,
        "gemm_f32_rcr_m60n64k20",
        ("a race: threads in order reverse give other results than in order forward",),
        frozenset({"nan", "zero"}),
        "b 0: m 60 down, n 64 across",
        (32, 51, 0, 63),
    ),
    "rounding": Planted(
        NAIVE,
        "fwd_f32_nhwgc_g1n2k8c5_y3x3_h8x8_p1x1",
        ("every difference is at most 2 units in the last place of f32", "1024 of 1024"),
        frozenset({"other"}),
        "g 0, n 0 to 1: h 8 down, w 8 across; k 8 folded",
        (0, 7, 0, 7),
    ),
    "transposed_tile": Planted(
        SMALL,
        "gemm_f32_rcr_m40n40k20",
        ("1544 of 1600", "spread over the whole tensor"),
        frozenset({"zero", "other"}),
        "b 0: m 40 down, n 40 across",
        (0, 39, 0, 39),
    ),
    "nan": Planted(
        SMALL,
        "gemm_f32_rcr_m40n60k10",
        ("1120 of 2400", "within n 32 to 59", "all of them are NaN, which no input holds"),
        frozenset({"nan"}),
        "b 0: m 40 down, n 60 across",
        (0, 39, 32, 59),
    ),
    "stale_cache": Planted(
        SMALL,
        "gemm_f32_rcr_m40n40k20",
        ("640 of 1600", "within m 24 to 39", "never written"),
        frozenset({"poison"}),
        "b 0: m 40 down, n 40 across",
        (24, 39, 0, 39),
        before="gemm_f32_rcr_m24n40k20",
    ),
}


@pytest.fixture(scope="module")
def verdicts(tmp_path_factory: pytest.TempPathFactory) -> Mapping[str, Verdict]:
    """The verdict of each defect, from one library a family that holds all of its defects with switches."""
    builder = Builder("host", lambda line: None)
    builder.runtime()
    builder.native()
    found: dict[str, Verdict] = {}
    for family in dict.fromkeys(one.kernel.partition(".")[0] for one in PLANTED.values()):
        names = [name for name, one in PLANTED.items() if one.kernel.startswith(f"{family}.")]
        found |= _verdicts(builder, family, names, tmp_path_factory.mktemp(family))
    return found


def _verdicts(builder: Builder, family: str, names: list[str], folder: Path) -> Iterator[tuple[str, Verdict]]:
    root = ours().root
    faults = {fault.name: fault for fault in read_faults([DEFECTS])}
    mutants = {name: mutant_of(faults[name], root) for name in names}
    assert None not in mutants.values()
    chosen = [mutant for mutant in mutants.values() if mutant is not None]
    instance = families()[family].instance(PLANTED[names[0]].kernel.partition(".")[2])
    assert instance is not None
    paths = {mutant.file: (root / mutant.file).resolve() for mutant in chosen}
    library = build(builder, families()[family].only(instance.group), chosen, paths, folder, lambda line: None)
    assert set(library.mutants.values()) == set(chosen)
    numbers = {mutant: number for number, mutant in library.mutants.items()}
    with open_pool(Opening("host"), 1, lambda line: None, family, library.overlay) as pool:
        for name in names:
            mutant = mutants[name]
            assert mutant is not None
            yield name, _verdict(pool.idlest, PLANTED[name], numbers[mutant])


def _verdict(process: SwitchedProcess, planted: Planted, number: int) -> Verdict:
    family, _, instance = planted.kernel.partition(".")
    case = PlannedCase(parse_case_id(planted.case), kernel_called(families(), family, instance), repeated=True)
    process.turn(case, 0)
    assert process.verify(case, SECONDS, by=BITS).green, "without the defect it is right"
    process.turn(case, number)
    if planted.before:
        before = replace(case, problem=parse_case_id(planted.before))
        assert process.verify(before, SECONDS, by=BITS).green
    return process.verify(case, SECONDS, by=BITS)


@pytest.mark.parametrize("name", PLANTED)
def test_picture_and_sentence_agree(name: str, verdicts: Mapping[str, Verdict]) -> None:
    planted, verdict = PLANTED[name], verdicts[name]
    panel = panel_of(verdict, 1, "host")
    assert not verdict.green
    for words in planted.words:
        assert words in panel.sentence
    drawn = panel.picture
    assert drawn is not None
    counts = {part: int(count) for part, count in (one.split() for one in drawn.parts)}
    assert set(counts) == planted.parts
    _agree(panel.sentence, counts)
    plane = drawn.planes[0]
    assert plane.caption == planted.caption
    painted = set().union(*(squares(plane.svg, part) for part in counts))
    rows, columns = ({place[axis] for place in painted} for axis in (0, 1))
    assert (min(rows), max(rows), min(columns), max(columns)) == planted.box
    _within(panel.sentence, plane.caption, planted.box)


def _agree(sentence: str, counts: Mapping[str, int]) -> None:
    """Compare the numbers and the kinds that a sentence names with those of the picture."""
    wrong = re.search(r"(\d+) of \d+ cells of \w+ are wrong", sentence)
    assert wrong is not None
    assert sum(counts.values()) == int(wrong[1])
    nans = re.search(r"(\d+|all) of them are NaN", sentence)
    assert counts.get("nan", 0) == (0 if nans is None else int(wrong[1]) if nans[1] == "all" else int(nans[1]))
    assert ("never written" in sentence) == (counts.get("poison", 0) == int(wrong[1])) or "nan" in counts
    assert (set(counts) == {"zero"}) == ("they are zero" in sentence)


def _within(sentence: str, caption: str, box: tuple[int, int, int, int]) -> None:
    """Compare ``within n 37 to 39`` of a sentence with the squares along that axis."""
    letters = re.findall(r"(\w) \d+ (?:down|across)", caption)
    axes = {letter: box[2 * place : 2 * place + 2] for place, letter in enumerate(letters)}
    for letter, first, last in re.findall(r"\b(\w) (\d+) to (\d+)", sentence.partition("within")[2]):
        assert axes[letter] == (int(first), int(last))


def test_a_page_holds_all_eight(verdicts: Mapping[str, Verdict]) -> None:
    page = made(*verdicts.values())
    for verdict in verdicts.values():
        panel = panel_of(verdict, 1, "host")
        assert isinstance(panel.picture, Picture)
        assert panel.sentence in page.root.text
        assert str(panel.picture.planes[0].svg) in page.text
