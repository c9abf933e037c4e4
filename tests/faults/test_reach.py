"""Which families an edit reaches: the others' verdicts cannot change, so a fault's run leaves them out."""

from pathlib import Path

from bitgate import rooms
from bitgate.faults.reach import families_reached
from bitgate.kernel.registry import families


def reached(file: str) -> set[str]:
    return set(families_reached(file, families().values(), rooms.root()))


def test_a_header_of_all_reaches_all() -> None:
    assert reached("kernels/include/bitgate/abi.h") == set(families())


def test_a_shared_header_reaches_those_that_include_it() -> None:
    weights = {name for name in families() if "bwd_weight" in name}
    assert reached("kernels/include/bitgate/implicit_gemm/bwd_weight/geometry.hpp") <= weights


def test_a_header_reaches_who_includes_it_through_another() -> None:
    shared = "kernels/include/bitgate/implicit_gemm/bwd_data/fill.hpp"
    assert {"grouped_bwd_data", "nongrouped_bwd_data"} <= reached(shared)


def test_a_family_includes_nobodys_private_header() -> None:
    assert reached("kernels/grouped_bwd_data/dispatch.hpp") == {"grouped_bwd_data"}


def test_what_no_kernel_includes_reaches_none() -> None:
    assert reached("kernels/platforms/host/runtime/stream.cpp") == set()


def test_an_include_of_a_file_that_is_gone_is_passed_over(tmp_path: Path) -> None:
    assert families_reached("kernels/include/bitgate/abi.h", families().values(), tmp_path) == ()
