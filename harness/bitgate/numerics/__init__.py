"""Numerics: integer fills with their certificate, references, bounds, digests, and the native code of all of them."""
