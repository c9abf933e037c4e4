"""Verification of a case by laws instead of a reference: they find what is wrong without knowing what is right."""

from bitgate.verify.laws.judge import judge_by_laws

__all__ = ["judge_by_laws"]
