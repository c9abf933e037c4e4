"""First contact with a machine or a target that bitgate has never met: everything tried, each step by itself, and one
bundle that says what is broken and who is to hear of it."""

from bitgate.lab.bringup.conclusion import Conclusion, conclude
from bitgate.lab.bringup.finding import STEPS, FaultDomain, StepFinding, StepResult
from bitgate.lab.bringup.visit import BringupOptions, visit

__all__ = ["STEPS", "BringupOptions", "Conclusion", "FaultDomain", "StepFinding", "StepResult", "conclude", "visit"]
