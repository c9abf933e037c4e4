"""Dialects of other harnesses that state batched GEMMs."""
