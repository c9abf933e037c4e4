"""Makes the helper modules beside the tests importable."""

from __future__ import annotations
