"""Dialects of other harnesses that state convolutions."""
