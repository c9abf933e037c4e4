"""Makes the helper module beside the tests importable; properties are not timed, machines are shared."""

from __future__ import annotations

import sys
from pathlib import Path

from hypothesis import settings

sys.path.insert(0, str(Path(__file__).parent))
settings.register_profile("shared_machine", deadline=None)
settings.load_profile("shared_machine")
