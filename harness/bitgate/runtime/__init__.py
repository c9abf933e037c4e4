"""Targets, the HIP runtime of a platform, and guarded device memory."""
