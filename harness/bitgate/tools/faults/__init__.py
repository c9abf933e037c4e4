"""Seeded defects: small edits of kernel sources that the suites must find, and the proof that they do."""
