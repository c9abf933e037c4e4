"""Lists in the style of oneDNN's: each problem is read once or refused, as a second reader says."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from tempfile import TemporaryDirectory

from hypothesis import Phase, given, settings
from hypothesis import strategies as st
from tests.interop.benchdnn_lists import CONVOLUTIONS, IGNORED, OPTIONS, PRODUCTS, meaning

from bitgate.interop import Found, Refused, Understood, found_in_list
from bitgate.model import case_id, parse_case_id

GAPS = (" ", "\t", "\n", "\n\n", "  # a note, --dt=s4 ic3oc3\n", "\n# --reset \\\n", "\r\n")
JOINS = ("", "", "\\\n", "\\\n     ", " \\\n   ", " \\\n\n  # between\n ", "\\ ")
NOT_OF = {"conv": ("bia_mask",), "matmul": ("dir", "mb")}


@st.composite
def files(draw: st.DrawFn) -> tuple[str, dict[str, str]]:
    driver = draw(st.sampled_from(("conv", "matmul")))
    known = [name for name in OPTIONS if name not in NOT_OF[driver]]
    descriptors = st.sampled_from(list(CONVOLUTIONS if driver == "conv" else PRODUCTS))

    def option() -> str:
        name = draw(st.sampled_from(known))
        chosen = draw(st.lists(st.sampled_from(OPTIONS[name]), max_size=3))
        joins = [draw(st.sampled_from(JOINS)) for _ in chosen]
        return (
            f"--{name}="
            + "".join(f"{join}{value}," for join, value in zip(joins, chosen, strict=True))[: -1 if chosen else None]
        )

    def text(batches: tuple[str, ...]) -> str:
        words = []
        for _ in range(draw(st.integers(1, 6))):
            kind = draw(st.integers(0, 9))
            if kind < 4:
                words.append(option())
            elif kind < 8 or not batches:
                words.append(draw(descriptors) if kind != 9 else draw(st.sampled_from(IGNORED)))
            else:
                words.append(f"--batch={draw(st.sampled_from(batches))}" if kind == 8 else "--reset")
        return "".join(word + draw(st.sampled_from(GAPS)) for word in words)

    inner, outer = text(()), text(("inner",))
    return driver, {"inner": inner, "outer": outer, "list": f"--{driver}\n" + text(("inner", "outer"))}


def found(folder: Path, contents: dict[str, str]) -> list[Found]:
    for name, text in contents.items():
        (folder / name).write_bytes(text.encode())
    return list(found_in_list(folder / "list"))


@settings(max_examples=150, deadline=None, phases=(Phase.explicit, Phase.reuse, Phase.generate))
@given(files())
def test_a_list_means_what_a_second_reader_says(drawn: tuple[str, dict[str, str]]) -> None:
    driver, contents = drawn
    expected = meaning(driver, "list", contents)
    with TemporaryDirectory() as folder:
        entries = found(Path(folder), contents)
    read = Counter(case_id(entry.problem) for entry in entries if isinstance(entry, Understood))
    assert read == Counter(case_id(parse_case_id(case)) for case in expected.read.elements())
    assert sum(isinstance(entry, Refused) for entry in entries) == expected.refused


@given(
    st.sampled_from(("attr-scales", "attr-zero-points", "attr-rounding-mode", "attr-dropout", "strides", "encoding"))
)
def test_what_changes_the_result_is_never_plain(option: str) -> None:
    with TemporaryDirectory() as folder:
        (entry,) = found(Path(folder), {"list": f"--conv --{option}=\\\n   src:1 {next(iter(CONVOLUTIONS))}"})
    assert isinstance(entry, Refused)
    assert entry.reason.startswith(f"option '--{option}=src:1' is not understood")
