"""Declaration and library refuse by the clause that clauses.toml states, and take what it says is taken."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.kernels.agreement import clauses

from bitgate.core.toml import parse_toml
from bitgate.model import parse_case_id

STATED = [
    (family, instance, case, clause or None)
    for family, instances in parse_toml(Path(__file__).with_name("clauses.toml").read_text()).items()
    for instance, cases in instances.items()
    for case, clause in cases.items()
]


@pytest.mark.parametrize(("family", "instance", "case", "clause"), STATED)
def test_clause(bench, family, instance, case, clause):
    assert clauses(bench.library(family), parse_case_id(case), instance) == (clause, clause)
