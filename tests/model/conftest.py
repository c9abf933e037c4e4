"""Makes the helper module beside the tests importable."""

from __future__ import annotations
