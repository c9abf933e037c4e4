"""A case held to laws instead of a reference: they find what is wrong without knowing what is right."""

from bitgate.verify.laws.judge import hold

__all__ = ["hold"]
