"""The strength of a solved list by the name that the lists are solved with: their hash covers the solver's imports."""

from __future__ import annotations

from bitgate.results.strength import Strength, in_words, strength_in

__all__ = ["Strength", "in_words", "strength_in"]
