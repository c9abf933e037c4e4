"""Timing of verified kernels: arms are timed interleaved on one device, and a winner has to be significant."""
