"""The list of offsets: small problems of which one stride reaches beyond 2^32 elements."""

from __future__ import annotations

import pytest

from bitgate.core.errors import UsageError
from bitgate.core.project import ours
from bitgate.kernel import registry
from bitgate.model import parse_case_id
from bitgate.model.gap import packed
from bitgate.suite.solved_list import read_list
from bitgate.tools.tiers.lists import TAKEN, stale_lists, write_lists
from bitgate.tools.tiers.request import read_requests

REQUEST = """
[large]
kernels = "reduction"
operations = "reduction"
offsets = 20
pool = 60
"""


def shipped():
    return read_list(ours().shelves[0] / "large" / TAKEN)


def beyond(problem):
    """The tensors and axes of which the last index has an offset of more than 2^32 elements."""
    return {
        (name, axis)
        for name, tensor in problem.tensors.items()
        for axis, (length, stride) in enumerate(zip(tensor.lengths, tensor.strides, strict=True))
        if (length - 1) * stride > 2**32
    }


def test_each_case_has_tiny_data_and_one_offset_that_32_bits_do_not_hold():
    for line in shipped():
        problem = parse_case_id(line.case)
        assert beyond(problem), line
        assert sum(tensor.bytes for tensor in problem.tensors.values()) <= 20 << 30
        assert sum(tensor.bytes for tensor in packed(problem).tensors.values()) < 64 << 20


def test_smoke_on_the_host_has_offsets_of_each_tensor_that_a_family_reads_or_writes():
    found: dict[str, set[str]] = {}
    for line in (line for line in shipped() if line.tier_on("host") == "smoke"):
        assert line.tier_on("gpu") == "regression"
        family = line.kernel.split(".")[0]
        found.setdefault(family, set()).update(name for name, _ in beyond(parse_case_id(line.case)))
    assert set(found) == set(read_requests(ours().shelves[0])["large"].kernels)
    for family, tensors in found.items():
        wanted = {"x", "y", "index"} if "reduction" in family else {"in", "wei", "out"}
        assert wanted <= tensors, family


def test_the_list_is_the_same_twice_and_stale_after_another_request(tmp_path):
    families = registry.families(ours())
    (tmp_path / "large").mkdir()
    (tmp_path / "solve.toml").write_text(REQUEST)
    said: list[str] = []
    write_lists(tmp_path, [], families, said.append)
    first = (tmp_path / "large" / TAKEN).read_text()
    assert said == [f"reduction reduction: {len(read_list(tmp_path / 'large' / TAKEN))} offsets beyond 2^32 elements"]
    write_lists(tmp_path, ["large"], families, said.append)
    assert (tmp_path / "large" / TAKEN).read_text() == first
    assert stale_lists(tmp_path, families) == []
    (tmp_path / "solve.toml").write_text(REQUEST.replace("60", "61"))
    assert stale_lists(tmp_path, families) == ["large"]


def test_a_request_of_offsets_has_no_seconds(tmp_path):
    (tmp_path / "solve.toml").write_text(REQUEST + "smoke = 3\n")
    with pytest.raises(UsageError, match=r"\[large\]: smoke: no such field"):
        read_requests(tmp_path)
