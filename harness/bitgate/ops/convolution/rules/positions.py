"""Wrong cells by their place in the image, or in the filter."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from bitgate.ops.convolution.problem import ConvProblem
from bitgate.verify.diagnose.scene import Scene


def wrong_positions(scene: Scene[ConvProblem]) -> NDArray[np.int64]:
    """Wrong cells of each spatial position, over all groups, images and channels."""
    return np.asarray(np.count_nonzero(scene.wrong, axis=(0, 1, 2)))
