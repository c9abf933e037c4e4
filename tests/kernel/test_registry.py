"""Families are found by their declaration files; a bad file is named with what is wrong in it."""

from __future__ import annotations

from pathlib import Path

import pytest

from bitgate.core import paths
from bitgate.core.errors import UsageError
from bitgate.core.project import ours
from bitgate.kernel import registry

GOOD = """
from pathlib import Path
from bitgate.kernel.declaration import Instance, KernelFamily, Option
from bitgate.ops.convolution import Pass
from bitgate.model import F32_ACCUMULATION

FAMILY = KernelFamily(
    name="theirs", operations=("fwd",), sources=("theirs.hip.cpp",), folder=Path(__file__).parent, platforms=("host",),
    instances=(
        Instance("small", "small", ("f16",), ("nhwgc",), (2,), F32_ACCUMULATION),
        Instance("large", "large", ("f16",), ("nhwgc",), (2,), F32_ACCUMULATION),
    ),
    options=(Option("gate", ("on", "off"), "on", ""),),
)
"""


def declare(folder: Path, text: str) -> Path:
    path = folder / "declaration.py"
    path.write_text(text)
    return path


def test_a_users_family_stands_beside_ours(tmp_path: Path) -> None:
    known = registry.families(ours().loading([declare(tmp_path, GOOD)]))
    assert known["theirs"].folder == tmp_path
    assert registry.families(ours().loading([tmp_path]))["theirs"] is known["theirs"], (
        "a folder stands for its declaration.py"
    )


@pytest.mark.parametrize(
    ("glob", "chosen"),
    [
        ("theirs", ["small", "large"]),
        ("theirs.*", ["small", "large"]),
        ("theirs.l*", ["large"]),
        ("*s.small", ["small"]),
    ],
)
def test_a_glob_selects_families_and_instances(tmp_path: Path, glob: str, chosen: list[str]) -> None:
    assert [instance.name for _, instance in registry.select(glob, ours().loading([declare(tmp_path, GOOD)]))] == chosen


def test_a_glob_that_selects_nothing_suggests_the_nearest(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"no kernel matches 'theirs\.smal'; did you mean 'theirs\.small'\?"):
        registry.select("theirs.smal", ours().loading([declare(tmp_path, GOOD)]))


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("FAMILY =", "FAMLY =", "defines no FAMILY: FAMLY is one: call it FAMILY; "),
        (
            "FAMILY = KernelFamily(",
            "FAMILY = (lambda **_: None)(",
            r"defines no FAMILY: write FAMILY = KernelFamily\(name=\.\.\., operations=",
        ),
        ("FAMILY = KernelFamily(", "FAMILY = dict(", "FAMILY is of type dict: write FAMILY = KernelFamily"),
        ('operations=("fwd",)', "operations=(FWD,)", r"declaration\.py:\d+: NameError"),
        ('("fwd",),', '("fwd",', r"declaration\.py:\d+: SyntaxError"),
        (
            '("theirs.hip.cpp",)',
            "()",
            "name sources, or a prebuilt library, or what opens its kernels: one of the three",
        ),
        ("FAMILY = KernelFamily(", 'FAMILY = KernelFamily(generated={"x.hip.cpp": ""},', r"generates 'x\.hip\.cpp'"),
        ('"large", "large"', '"small", "large"', "instance 'small' is listed twice"),
        ('"large", "large"', '"Large", "large"', "instance name 'Large' may hold a-z, 0-9 and _ only"),
        (
            '("f16",), ("nhwgc",), (2,), F32_ACCUMULATION),\n    )',
            '("fp16",), ("nhwgc",), (2,), F32_ACCUMULATION),\n    )',
            "fp16",
        ),
        ('("nhwgc",)', '("nhwcg",)', r"unknown layout 'nhwcg' \(known: gndhwc, "),
        ('"on", "")', '"maybe", "")', "production value 'maybe' is not among"),
        ('"on", "")', '"on", "é" * 200)', "option 'gate': help has 400 bytes, abi.h has room for 254: shorten it here"),
        ('"gate"', '"g" * 63', "option 'ggg.*': name has 63 bytes, abi.h has room for 62"),
        ('"off")', '"o" * 124)', "option 'gate': values has 127 bytes, abi.h has room for 126"),
        ('("on", "off"), "on"', '("o" * 31,), "o" * 31', "production has 31 bytes, abi.h has room for 30"),
        ('"large", "large"', '"l" * 95, "large"', "instance name 'lll.*' has 95 bytes, abi.h has room for 94"),
        ('name="theirs"', 'name="t" * 63', "the family's name 'ttt.*' has 63 bytes"),
        (
            'Option("gate", ("on", "off"), "on", "")',
            '*(Option(f"gate{i}", ("on", "off"), "on", "") for i in range(17))',
            "has 17 options, options.hpp takes 16",
        ),
    ],
)
def test_a_bad_declaration_is_named_with_its_fault(tmp_path: Path, old: str, new: str, message: str) -> None:
    assert old in GOOD
    with pytest.raises(UsageError, match=message):
        registry.families(ours().loading([declare(tmp_path, GOOD.replace(old, new))]))


def test_a_layout_of_an_operation_without_any_is_reported_as_such(tmp_path: Path) -> None:
    text = GOOD.replace('("fwd",)', '("reduction",)').replace('("nhwgc",)', '("oli",)')
    with pytest.raises(UsageError, match=r"unknown layout 'oli': reduction takes none: write layouts=\(\)"):
        registry.families(ours().loading([declare(tmp_path, text)]))


def test_the_abis_capacity_limits_kernels_with_a_library_only(tmp_path: Path) -> None:
    fits = GOOD.replace('"off"), "on", ""', '"o" * 123), "on", "h" * 254')
    assert registry.families(ours().loading([declare(tmp_path, fits)]))["theirs"].option("gate") is not None
    callable_ = GOOD.replace('sources=("theirs.hip.cpp",)', "opens=lambda *_: None").replace(
        '"on", "")', '"on", "h" * 900)'
    )
    (tmp_path / "callable").mkdir()
    family = registry.load_family(declare(tmp_path / "callable", callable_))
    assert len(family.options[0].help) == 900


def test_options_are_as_many_as_the_header_takes() -> None:
    header = (paths.data_folder("kernels") / "include" / "bitgate" / "options.hpp").read_text()
    assert f"max_options = {registry.MOST_OPTIONS};" in header


def test_missing_and_clashing_files_are_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="no such declaration file"):
        registry.families(ours().loading([tmp_path / "absent.py"]))
    (tmp_path / "one").mkdir()
    (tmp_path / "two").mkdir()
    with pytest.raises(UsageError, match=r"'theirs' is declared by .*one"):
        registry.families(ours().loading([declare(tmp_path / "one", GOOD), declare(tmp_path / "two", GOOD)]))


def test_our_own_declarations_are_sound() -> None:
    families = registry.families()
    assert [name for name, family in families.items() if family.library is not None] == []
    files = [f.folder / source for f in families.values() for source in f.sources if source not in f.generated]
    assert files
    assert [file for file in files if not file.is_file()] == []
