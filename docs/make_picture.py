"""Draws docs/founding_bug.svg from a real run: dx of one image with the flat path's gate as before the fix, and as now.

python docs/make_picture.py
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import numpy.typing as npt

CASE = "bwd_data_f16_nhwgc_g1n4k128c64_y3x3_h28x28_s3x3_p1x1"
KERNEL = "grouped_bwd_data.f16_*a8b8c8"
PICTURE = Path(__file__).with_name("founding_bug.svg")

CELL, GAP, MARGIN, HEADER, FOOTER = 9, 130, 16, 44, 62
RIGHT, ZERO, OTHER = "#2f6f4f", "#c8442f", "#e0a030"
INK = "#24292f"


def main() -> None:
    panels = [(gate, *_run(gate)) for gate in ("off", "gemms_count")]
    cells = panels[0][1].shape[0]
    side = cells * CELL
    width, height = 2 * MARGIN + 2 * side + GAP, HEADER + side + FOOTER
    svg = ElementTree.Element("svg", xmlns="http://www.w3.org/2000/svg", viewBox=f"0 0 {width} {height}")
    svg.set("font-family", "sans-serif")
    ElementTree.SubElement(svg, "rect", width=str(width), height=str(height), fill="#ffffff")
    for number, (gate, colours, verdict) in enumerate(panels):
        left = MARGIN + number * (side + GAP)
        _text(svg, left, 18, f"flat_path_gate={gate}: {verdict['verdict']}", 13)
        _text(
            svg,
            left,
            35,
            f"{verdict['dispatch']['path']} path, sub-GEMMs {verdict['dispatch']['launched']} launched",
            11,
        )
        for colour in (RIGHT, ZERO, OTHER):
            squares = (f"M{left + x * CELL} {HEADER + y * CELL}h8v8h-8z" for y, x in np.argwhere(colours == colour))
            ElementTree.SubElement(svg, "path", fill=colour, d="".join(squares))
    below = HEADER + side + 20
    for number, (colour, words) in enumerate(((RIGHT, "every channel right"), (ZERO, "every channel zero"))):
        ElementTree.SubElement(
            svg, "rect", x=str(MARGIN + number * 150), y=str(below - 9), width="10", height="10", fill=colour
        )
        _text(svg, MARGIN + number * 150 + 15, below, words, 11)
    sentence = panels[0][2]["diagnosis"]["sentence"]
    _text(svg, MARGIN, below + 20, panels[0][2]["human"], 11)
    _text(svg, MARGIN, below + 36, sentence, 11)
    ElementTree.indent(svg)
    PICTURE.write_text(ElementTree.tostring(svg, encoding="unicode") + "\n")
    print(f"{PICTURE}: {sentence}")


def _run(gate: str) -> tuple[npt.NDArray[np.str_], dict[str, object]]:
    """A colour for every (h, w) of dx in image 0, and the verdict."""
    with tempfile.TemporaryDirectory() as folder:
        command = [
            sys.executable,
            "-c",
            "from bitgate.cli.main import main; main()",
            "verify",
            CASE,
            "--kernel",
            KERNEL,
        ]
        command += ["--target", "host", "--option", f"flat_path_gate={gate}", "--dump", folder, "--json"]
        done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=False)
        verdict = json.loads(done.stdout)["verdicts"][0]
        dump = next(Path(folder).iterdir())
        result, reference = (np.load(dump / f"{name}.npy")[0, 0] for name in ("result", "reference"))
    right = (result == reference).all(axis=0)
    zero = (result == 0).all(axis=0) & ~right
    return np.select([right, zero], [RIGHT, ZERO], OTHER), verdict


def _text(svg: ElementTree.Element, x: int, y: int, words: str, size: int) -> None:
    place = {"x": str(x), "y": str(y), "font-size": str(size), "fill": INK}
    ElementTree.SubElement(svg, "text", place).text = words


if __name__ == "__main__":
    main()
