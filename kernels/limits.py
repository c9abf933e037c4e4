"""What a launch, and a kernel that counts in 32 bits, can have at most."""

from __future__ import annotations

MAX_COORDINATE = 2**30
"""A coordinate and a tile's length add up in 32 bits: of lengths, coordinates and reductions."""
MAX_GRID_YZ = 65535
"""Blocks along the second and the third dimension of a grid."""
MAX_GRID_THREADS = 2**32 - 1
"""Blocks along the first dimension, times the threads of a block."""
