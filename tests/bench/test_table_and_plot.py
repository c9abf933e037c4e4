"""A comparison as people read it."""

from __future__ import annotations

import html
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from tests.bench.timings import CASE, row

from bitgate.core.errors import UsageError
from bitgate.results.record.timing import TimingStatus
from bitgate.tools.bench import plot, table
from bitgate.tools.bench.compare import SweepComparison, compare
from bitgate.tools.bench.settings import Significance
from bitgate.tools.bench.table import grouped

BACKWARD = CASE.replace("fwd", "bwd_data")
STRIDED = CASE.replace("s1x1", "s2x2")
OTHER = "an_operation_that_is_not_loaded_here"


@pytest.fixture(scope="module")
def sweep() -> SweepComparison:
    draw = np.random.default_rng(0)
    rows = []
    for name, case, factor in (
        ("ALMIOPEN-1959", STRIDED, 0.171 / 0.183),
        ("Retinanet-L61", STRIDED, 0.045 / 0.054),
        ("", STRIDED.replace("k8", "k16"), 1.0),
        ("first|layer", CASE, 1.3),
    ):
        for side in "AB":
            for instance in ("x1", "x2"):
                seconds = 1e-4 * (factor if side == "B" else 1) * draw.lognormal(0, 0.005, 30)
                rows.append(row(side, seconds, case=case, name=name, instance=instance))
    rows.append(
        row("A", [], case=OTHER, status=TimingStatus.NOT_VERIFIED, verdict="MISMATCH", reason="dx has *zero* slices")
    )
    return compare(rows, Significance(resamples=200))


def test_a_table_counts_by_class_and_then_tells_each_shape(sweep: SweepComparison) -> None:
    lines = table.text(sweep).splitlines()
    assert " ".join(lines[0].split()) == "Shapes A wins Tie B wins Not compared B's time / A's"
    counts = [" ".join(line.split()) for line in lines[1:5]]
    assert counts == [
        "others 1 0 0 0 1 -",
        "stride 1 1 1 0 0 0 1.30 (1.30 to 1.30)",
        "stride > 1 3 0 1 2 0 0.92 (0.83 to 1.00)",
        "all 5 1 1 2 1 1.00 (0.83 to 1.30)",
    ]
    retinanet = next(line for line in lines if line.startswith("Retinanet-L61"))
    assert "B +17 % (" in retinanet
    assert "(of 2)" in retinanet
    assert "A +2" in next(line for line in lines if line.startswith("first|layer"))
    assert "  tie (" in next(line for line in lines if line.startswith(STRIDED.replace("k8", "k16")))
    assert all(line == line.rstrip() for line in lines)


def test_shapes_are_counted_by_what_sets_them_apart() -> None:
    """Two passes in two types, all of them with stride 1: of that nothing is said."""
    both = [case for dtype in ("f16", "bf16") for case in (CASE.replace("f16", dtype), BACKWARD.replace("f16", dtype))]
    rows = [row(side, [1e-4 * factor] * 12, case=case) for case in both for side, factor in (("A", 1), ("B", 0.5))]
    compared = compare(rows, Significance(resamples=20))
    assert list(grouped(compared.shapes)) == ["bwd_data, bf16", "bwd_data, f16", "fwd, bf16", "fwd, f16"]
    assert compared.as_json()["mean_ratio"] == pytest.approx(0.5)


def test_what_was_not_verified_stands_in_its_row(sweep: SweepComparison) -> None:
    told = next(line for line in table.text(sweep).splitlines() if line.startswith(OTHER))
    assert told.endswith("A and B not timed; A: grouped_fwd.x1 not verified (MISMATCH: dx has *zero* slices)")


def test_markdown_marks_winners_and_escapes_names(sweep: SweepComparison) -> None:
    told = table.markdown(sweep)
    assert "| stride > 1 | 3 | 0 | 1 | 2 | 0 | 0.92 (0.83 to 1.00) |" in told
    assert "**B +17 % (" in next(line for line in told.splitlines() if line.startswith("| Retinanet-L61 |"))
    assert "first\\|layer" in told
    assert "dx has \\*zero\\* slices" in told
    tables = [part.splitlines() for part in told.split("\n\n") if part.startswith("|")]
    assert [len({line.replace("\\|", "").count("|") for line in lines}) for lines in tables] == [1, 1]


def test_notes_have_a_column_only_where_there_are_some() -> None:
    draw = np.random.default_rng(0)
    rows = [row(side, draw.lognormal(-7, 0.005, 40)) for side in "AB"]
    plain = table.markdown(compare(rows, Significance(resamples=200)))
    assert "Note" not in plain
    assert "Not compared" not in plain
    assert "| stride 1 | 1 | 0 | 1 | 0 |" in plain


def test_nothing_at_all_is_a_table_without_rows() -> None:
    assert "A wins" in table.text(compare([], Significance()))


@pytest.mark.parametrize(("suffix", "first"), [(".svg", b"<?xml"), (".png", b"\x89PNG"), (".pdf", b"%PDF")])
def test_a_plot_is_of_the_kind_that_its_suffix_says(
    sweep: SweepComparison, tmp_path: Path, suffix: str, first: bytes
) -> None:
    file = tmp_path / "plots" / f"sweep{suffix}"
    plot.draw(sweep, file)
    assert file.read_bytes().startswith(first)


def test_the_same_comparison_is_the_same_picture(sweep: SweepComparison, tmp_path: Path) -> None:
    files = [tmp_path / name for name in ("a.svg", "b.svg")]
    for file in files:
        plot.draw(sweep, file)
    assert files[0].read_bytes() == files[1].read_bytes()


def test_what_cannot_be_drawn_is_told_in_a_line(sweep: SweepComparison, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"a plot is one of \.svg, \.png, \.pdf"):
        plot.draw(sweep, tmp_path / "sweep.gif")
    with pytest.raises(UsageError, match="nothing was compared"):
        plot.draw(compare([], Significance()), tmp_path / "sweep.svg")
    (tmp_path / "file").touch()
    with pytest.raises(UsageError, match="cannot be written"):
        plot.draw(sweep, tmp_path / "file" / "sweep.svg")


@pytest.mark.parametrize("name", ["cost $x^$", r"$\frac{1}$", "a & <b>"])
def test_names_are_drawn_as_they_are(name: str, tmp_path: Path) -> None:
    """Between two dollars matplotlib would read a formula."""
    rows = [row(side, [1.0 + 0.01 * place for place in range(8)], name=name) for side in "AB"]
    plot.draw(compare(rows, Significance()), tmp_path / "x.svg")
    assert html.unescape((tmp_path / "x.svg").read_text()).count(name) >= 1


def test_without_matplotlib_it_is_said_what_to_install(tmp_path: Path) -> None:
    """In a process that cannot find it, whether it is installed or not."""
    program = (
        "import sys; sys.modules['matplotlib'] = None\n"
        "from pathlib import Path\n"
        "from bitgate.tools.bench import plot\n"
        "from bitgate.tools.bench.compare import compare\n"
        "from bitgate.tools.bench.settings import Significance\n"
        "from bitgate.core.errors import UsageError\n"
        "try:\n"
        f"    plot.draw(compare([], Significance()), Path({str(tmp_path / 'a.svg')!r}))\n"
        "except UsageError as error:\n"
        "    print(error)\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout == "a plot needs matplotlib: pip install 'bitgate[plot]'\n"
