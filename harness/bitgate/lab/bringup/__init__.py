"""Bring-up of a machine or target that is new to bitgate: each step is tried by itself.

One bundle reports what is broken and who should hear of it.
"""

from bitgate.lab.bringup.bringup import BringupOptions, bring_up
from bitgate.lab.bringup.conclusion import Conclusion, conclude
from bitgate.lab.bringup.finding import STEPS, FaultDomain, StepFinding, StepResult

__all__ = ["STEPS", "BringupOptions", "Conclusion", "FaultDomain", "StepFinding", "StepResult", "bring_up", "conclude"]
