"""Timing of kernels that were verified: sides are timed in turns on one device, and a winner has to be significant."""
