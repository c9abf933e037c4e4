"""Random problems for kernels, and the smallest problem that still fails."""
