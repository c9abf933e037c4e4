"""Loading a kernel library: a sound one runs, a broken one is named for what it is and does no harm."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from bitgate.core.errors import UsageError
from bitgate.core.project import ours
from bitgate.kernel import examine, registry
from bitgate.kernel.abi import AbiStatus
from bitgate.kernel.build import Builder
from bitgate.kernel.cache import Cache
from bitgate.kernel.declaration import KernelFamily, Refusal
from bitgate.kernel.errors import KernelFailed, KernelRefused, LibraryError
from bitgate.kernel.library import KernelLibrary
from bitgate.model import parse_case_id

CASE = parse_case_id("bwd_data_f32_nhwgc_n1k4c4_y3_h6_s3_p1")
REFUSED = parse_case_id("bwd_data_f32_nhwgc_n1k4c3_y3_h6_s3_p1")
MANY = parse_case_id("bwd_data_f32_nhwgc_n1k4c4_y16_h32_s16")


@pytest.fixture
def library(tiny_family: KernelFamily, tiny_library: Callable[..., Path], private_cache: Cache) -> KernelLibrary:
    return KernelLibrary.load(tiny_library(), tiny_family, target="host", cache=private_cache)


def pointers(dx: np.ndarray, dy: np.ndarray) -> dict[str, int]:
    return {"in": dx.ctypes.data, "wei": 0, "out": dy.ctypes.data}


@pytest.mark.parametrize(("options", "factor"), [({}, 2), ({"times": "once"}, 1)])
def test_a_sound_library_runs_and_tells_what_it_did(
    library: KernelLibrary, options: dict[str, str], factor: int
) -> None:
    dx, dy = np.zeros(4, np.float32), np.arange(4, dtype=np.float32)
    record = library.run(CASE, "plain", options, pointers(dx, dy))
    assert dx.tolist() == (factor * dy).tolist()
    assert (record.path, record.facts, record.instance) == ("grouped", {"gemms_count": 9}, "plain")
    assert record.summary()["launched"] == "0,2-8"
    assert record.part_columns == ("index", "launched", "place")
    assert record.parts[:3] == ((0, 1, 0), (1, 0, 10), (2, 1, 20))
    (event,) = record.events
    assert (event.name, event.grid, event.block) == ("tiny", (3, 0, 0), (64, 0, 0))
    assert np.frombuffer(event.kernargs, np.float32).tolist() == [factor]


def test_the_record_has_room_for_every_part_of_the_problem(library: KernelLibrary) -> None:
    dx, dy = np.zeros(4, np.float32), np.zeros(4, np.float32)
    record = library.run(MANY, "plain", {}, pointers(dx, dy))
    assert [index for index, *_ in record.parts] == list(range(256))


def test_a_problem_that_was_lent_is_as_it_was_for_the_next_call(
    tiny_family: KernelFamily, tiny_library: Callable[..., Path], private_cache: Cache
) -> None:
    library = KernelLibrary.load(tiny_library("WRITES_PROBLEM"), tiny_family, cache=private_cache)
    assert not library.conduct.wrote_problem
    record = library.run(CASE, "plain", {}, pointers(np.zeros(4, np.float32), np.zeros(4, np.float32)))
    assert library.conduct.wrote_problem
    assert record.facts == {"gemms_count": 12}  # as it had made of the problem: stride 4 x 3
    again = library.run(CASE, "plain", {}, pointers(np.zeros(4, np.float32), np.zeros(4, np.float32)))
    assert again.facts == record.facts


def test_a_refusal_carries_its_clause(library: KernelLibrary) -> None:
    refusal = Refusal("c_vector", "C is not a multiple of 4")
    assert library.is_supported(CASE, "plain") is None
    assert library.is_supported(REFUSED, "plain") == refusal
    assert library.workspace_size(CASE, "plain") == 4
    with pytest.raises(KernelRefused) as raised:
        library.run(REFUSED, "plain", {}, pointers(np.zeros(4, np.float32), np.zeros(4, np.float32)))
    assert raised.value.refusal == refusal
    with pytest.raises(KernelRefused):
        library.workspace_size(REFUSED, "plain")


@pytest.mark.parametrize(
    ("instance", "options", "message"),
    [
        ("plian", {}, "no instance 'plian'; did you mean 'plain'?"),
        ("plain", {"time": "once"}, "no option 'time'; did you mean 'times'?"),
        ("plain", {"times": "twise"}, "the value is once or twice; did you mean 'twice'?"),
    ],
)
def test_a_wrong_name_is_answered_with_the_nearest(
    library: KernelLibrary, instance: str, options: dict[str, str], message: str
) -> None:
    with pytest.raises(UsageError, match=message.replace("?", r"\?")):
        library.is_supported(CASE, instance, options)


@pytest.mark.parametrize(
    ("status", "expected"),
    [("BITGATE_HIP_ERROR", AbiStatus.HIP_ERROR), ("BITGATE_WORKSPACE", AbiStatus.WORKSPACE), ("77", None)],
)
def test_a_failing_call_is_told_apart_from_a_refusal(
    tiny_family: KernelFamily,
    tiny_library: Callable[..., Path],
    private_cache: Cache,
    status: str,
    expected: AbiStatus | None,
) -> None:
    library = KernelLibrary.load(tiny_library(f"STATUS={status}"), tiny_family, cache=private_cache)
    with pytest.raises(KernelFailed) as raised:
        library.run(CASE, "plain", {}, pointers(np.zeros(4, np.float32), np.zeros(4, np.float32)))
    assert raised.value.status is expected
    assert expected is not None or "returned 77, which abi.h does not know" in str(raised.value)


BROKEN = [
    ("VERSION=1", "libtiny0.so: ABI 1: rebuild it with this abi.h, which is ABI 2$"),
    ("VERSION=9", "ABI 9: rebuild"),
    ("WRONG_SIZE", r"structure sizes differ: launch 840, not 832"),
    ("NO_RUN", "does not export bitgate_run"),
    ("NO_WORKSPACE_SIZE", "does not export bitgate_workspace_size"),
    ("UNRESOLVED", "needs the symbol a_symbol_of_nobody"),
    ("CRASH_ON_LOAD", "crashes with SIGABRT while being loaded"),
    ("EXIT_ON_LOAD", r"ends the process \(exit code 7\) while being loaded"),
    ("CRASH_IN_ABI", "crashes with SIGSEGV while bitgate_abi is called"),
    ("OVERRUN", "bitgate_abi writes past the memory it was given"),
    ('FAMILY="other"', "holds the family 'other', the declaration is of 'tiny'"),
    ("EXTRA_INSTANCE", "has instances that the declaration lacks: extra"),
    ("BLOCK_SIZE=128", "instance plain: block_size is 128 in it, 64 in the declaration"),
    (
        f'OPTION_VALUES="{"once," * 25}tw"',
        "option times: values is cut at 'ce,once,once,once,tw': abi.h has room for 126 bytes",
    ),
    ('OPTION_VALUES="once"', "option times: values is once in it, once,twice in the declaration"),
]


@pytest.mark.parametrize(("macro", "message"), BROKEN, ids=[macro.partition("=")[0].lower() for macro, _ in BROKEN])
def test_a_broken_library_is_named_for_what_it_is(
    tiny_family: KernelFamily, tiny_library: Callable[..., Path], private_cache: Cache, macro: str, message: str
) -> None:
    with pytest.raises(LibraryError, match=message):
        KernelLibrary.load(tiny_library(macro), tiny_family, cache=private_cache)


def test_a_library_that_hangs_while_loaded_is_ended(
    tiny_family: KernelFamily,
    tiny_library: Callable[..., Path],
    private_cache: Cache,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(examine, "_PROBE_SECONDS", 0.5)
    with pytest.raises(LibraryError, match="hangs while being loaded"):
        KernelLibrary.load(tiny_library("HANG_ON_LOAD"), tiny_family, cache=private_cache)


def test_a_declaration_that_promises_more_than_the_library_has(
    tiny_family: KernelFamily, tiny_library: Callable[..., Path], private_cache: Cache
) -> None:
    more = replace(tiny_family, instances=(*tiny_family.instances, replace(tiny_family.instances[0], name="wide")))
    with pytest.raises(LibraryError, match="lacks instances that the declaration names: wide"):
        KernelLibrary.load(tiny_library(), more, cache=private_cache)


def test_a_library_for_another_target(
    tiny_family: KernelFamily, tiny_library: Callable[..., Path], private_cache: Cache
) -> None:
    with pytest.raises(LibraryError, match="built for host, the target is gfx942"):
        KernelLibrary.load(tiny_library(), tiny_family, target="gfx942", cache=private_cache)


@pytest.mark.parametrize(
    ("content", "message"),
    [(b"not a library", "no ELF header"), (b"\x7fELF" + bytes(12) + b"\x02\x00\x3e\x00", "ELF type 2")],
)
def test_a_file_that_is_no_library(
    tiny_family: KernelFamily, tmp_path: Path, private_cache: Cache, content: bytes, message: str
) -> None:
    path = tmp_path / "libtiny.so"
    path.write_bytes(content)
    with pytest.raises(LibraryError, match=message):
        KernelLibrary.load(path, tiny_family, cache=private_cache)
    with pytest.raises(LibraryError, match="cannot be read"):
        KernelLibrary.load(tmp_path / "absent.so", tiny_family, cache=private_cache)


def test_a_sound_library_is_probed_once(
    tiny_family: KernelFamily,
    tiny_library: Callable[..., Path],
    private_cache: Cache,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    path = tiny_library()
    KernelLibrary.load(path, tiny_family, cache=private_cache)
    monkeypatch.setattr(examine, "Worker", lambda *a, **k: pytest.fail("probed again"))
    KernelLibrary.load(path, tiny_family, cache=private_cache)


DECLARATION = """
from pathlib import Path
from bitgate.kernel.declaration import Instance, KernelFamily, Option
from bitgate.ops.convolution import Pass
from bitgate.model import F32_ACCUMULATION

FAMILY = KernelFamily(
    name="tiny", operations=("bwd_data",), folder=Path(__file__).parent, platforms=("host",), library=Path({library!r}),
    instances=(
        Instance("plain", "plain", ("f32", "f16"), ("nhwgc",), (2,), F32_ACCUMULATION, (16, 16, 8), block_size=64),
    ),
    options=(Option("times", ("once", "twice"), "twice", "how often dy counts"),),
)
"""


def test_a_users_prebuilt_library_is_found_by_its_declaration(
    tmp_path: Path, tiny_library: Callable[..., Path], private_cache: Cache
) -> None:
    built = tiny_library()
    (tmp_path / "declaration.py").write_text(DECLARATION.format(library=built.name))
    family = registry.families(ours().loading([tmp_path]))["tiny"]
    path = Builder("host", cache=private_cache).family(family)
    assert path == built
    library = KernelLibrary.load(path, family, target="host", cache=private_cache)
    assert library.workspace_size(CASE, "plain") == 4
