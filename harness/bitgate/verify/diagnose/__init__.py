"""Diagnosis of a result: from wrong cells to kinds of a closed vocabulary and one sentence.

The rules of any operation are here, and what rules of several share; an operation adds its own (``diagnostics.rules``).
"""

from bitgate.model.finding import Finding, Role, Rule
from bitgate.verify.diagnose.engine import RULES, diagnose
from bitgate.verify.diagnose.scene import Scene

__all__ = ["RULES", "Finding", "Role", "Rule", "Scene", "diagnose"]
