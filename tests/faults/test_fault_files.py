"""A fault file is checked before anything is built: what it names must exist, and its text must stand there once."""

from __future__ import annotations

from pathlib import Path

import pytest

from bitgate.cli.main import run
from bitgate.core.errors import UsageError
from bitgate.tools.faults.fault import Fault, choose, read_faults, sampled

GOOD = """
[[fault]]
name = "drops_a_barrier"
imitates = "CK c366de553: missing block_sync_lds"
file = "kernels/k.hip.cpp"
find = '''a();
__syncthreads();'''
replace = "a();"
diagnosis = "race"
"""


def _file(tmp_path: Path, text: str = GOOD, name: str = "faults.toml") -> Path:
    (tmp_path / name).write_text(text)
    return tmp_path / name


def _source(tmp_path: Path, text: str) -> None:
    (tmp_path / "kernels").mkdir(exist_ok=True)
    (tmp_path / "kernels" / "k.hip.cpp").write_text(text)


def test_a_fault_is_planted_in_a_copy_and_nowhere_else(tmp_path: Path) -> None:
    _source(tmp_path, "a();\n__syncthreads();\nb();\n__syncthreads();\n")
    (fault,) = read_faults([_file(tmp_path)])
    fault.plant(tmp_path, tmp_path / "overlay")
    assert (tmp_path / "overlay" / fault.file).read_text() == "a();\nb();\n__syncthreads();\n"
    assert (tmp_path / fault.file).read_text().count("__syncthreads") == 2


@pytest.mark.parametrize(("times", "said"), [(0, "0 times"), (2, "2 times")])
def test_the_text_to_find_stands_there_exactly_once(tmp_path: Path, times: int, said: str) -> None:
    _source(tmp_path, "a();\n__syncthreads();\n" * times)
    (fault,) = read_faults([_file(tmp_path)])
    with pytest.raises(UsageError, match=said):
        fault.seeded(tmp_path)


def test_a_source_that_is_not_utf_8_is_named_with_its_line(tmp_path: Path) -> None:
    _source(tmp_path, "")
    (tmp_path / "kernels" / "k.hip.cpp").write_bytes(b"a();\n// Stra\xdfe\n")
    (fault,) = read_faults([_file(tmp_path)])
    with pytest.raises(UsageError, match=r"k\.hip\.cpp:2: no UTF-8"):
        fault.seeded(tmp_path)


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("diagnosis =", "diagnose =", "diagnose: no such field; did you mean 'diagnosis'?"),
        ('"race"', '"witchcraft"', "diagnosis: 'witchcraft' is not one of"),
        (
            'imitates = "CK c366de553: missing block_sync_lds"\n',
            "",
            "imitates: is missing; the defect that it imitates",
        ),
        ('"a();"', "3", "replace: 3 is not a text"),
        ('"kernels/k.hip.cpp"', '"../k.hip.cpp"', "not a path below"),
        ('"drops_a_barrier"', '"Drops a barrier"', "characters a to z"),
        ("find = '''a();\n__syncthreads();'''", "find = 'a();'", "nothing would change"),
        ("[[fault]]", "[fault]", "one or more"),
        ("[[fault]]", "[[fault]", "faults.toml"),
    ],
)
def test_a_mistake_in_a_fault_file_is_named(tmp_path: Path, old: str, new: str, said: str) -> None:
    with pytest.raises(UsageError) as error:
        read_faults([_file(tmp_path, GOOD.replace(old, new))])
    assert said in str(error.value)


def test_names_are_unique_over_all_files(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"is in .*a\.toml already"):
        read_faults([_file(tmp_path, name="a.toml"), _file(tmp_path, name="b.toml")])


def test_an_unknown_name_gets_the_nearest() -> None:
    faults = [Fault("drops_a_barrier", "", "f", "a", "b"), Fault("wrong_stride", "", "f", "a", "b")]
    assert [fault.name for fault in choose(faults, "wrong*")] == ["wrong_stride"]
    with pytest.raises(UsageError, match="nearest is drops_a_barrier"):
        choose(faults, "drop_barrier")


def test_a_fault_that_does_not_apply_ends_the_command_unbuilt(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    text = GOOD.replace("kernels/k.hip.cpp", "kernels/include/bitgate/abi.h")
    assert run(["faults", "run", "--file", str(_file(tmp_path, text))]) == 2
    assert "occurs 0 times" in capsys.readouterr().err


def test_a_sample_is_of_few_families_and_keeps_the_order() -> None:
    faults = [Fault(f"f{number}", "", f"kernels/k{number % 4}/a.hpp", "a", "b") for number in range(40)]

    def drawn(count: int, seed: int = 1) -> list[str]:
        return [fault.name for fault in sampled(faults, count, seed, lambda fault: (fault.family, "another"))]

    assert len(drawn(15)) == 15
    assert len({int(name[1:]) % 4 for name in drawn(15)}) == 2
    assert drawn(15) == sorted(drawn(15), key=lambda name: int(name[1:]))
    assert drawn(15) != drawn(15, seed=2)
    assert drawn(100) == [fault.name for fault in faults]
