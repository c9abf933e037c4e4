"""Arrays through the channel to a child, which speaks JSON: numpy's own file format as text.

Whole numbers of up to 53 bits and reals go as they are; types that numpy has not itself go as f64, which holds them.
"""

from __future__ import annotations

import base64
import io
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray


def as_text(arrays: Mapping[str, NDArray[Any]]) -> str:
    plain = {
        name: cells if cells.dtype.kind in "biuf" else cells.astype(np.float64)
        for name, cells in ((name, np.asarray(one)) for name, one in arrays.items())
    }
    file = io.BytesIO()
    np.savez(file, **plain)  # type: ignore[arg-type]
    return base64.b64encode(file.getvalue()).decode()


def from_text(text: str) -> dict[str, NDArray[Any]]:
    """ValueError for what is no such text; nothing in it is run."""
    with np.load(io.BytesIO(base64.b64decode(text)), allow_pickle=False) as file:
        return {name: file[name] for name in file.files}
