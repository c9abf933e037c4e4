"""First contact with a machine or a target that bitgate has never met: everything tried, each step by itself, and one
bundle that says what is broken and who is to hear of it."""

from bitgate.contact.conclusion import Conclusion, conclude
from bitgate.contact.finding import STEPS, Class, Finding, Result
from bitgate.contact.visit import Order, visit

__all__ = ["STEPS", "Class", "Conclusion", "Finding", "Order", "Result", "conclude", "visit"]
