"""What problems of two operands, each with an element-wise operation of its own, share."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from bitgate.model.elementwise import ELEMENTWISE, OPERAND_ELEMENTWISE

OPERAND_SHARE = 0.05
"""Share of problems one of whose operands goes through an operation of its own."""


def with_operand_operation(problem: Any, rng: np.random.Generator) -> Any:
    """The problem, now and then with an operation on one of its ``operands``; dy passes as it is."""
    operand = str(rng.choice(problem.operands))
    if rng.random() < OPERAND_SHARE and operand != "out":
        changes: dict[str, Any] = {f"{operand}_op": ELEMENTWISE[str(rng.choice(OPERAND_ELEMENTWISE))]}
        return replace(problem, **changes)
    return problem
