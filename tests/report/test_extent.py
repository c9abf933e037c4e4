"""How many cells are wrong, and by how much at most, in one line."""

from __future__ import annotations

from typing import Any

import pytest
from tests.report.factory import verdict

from bitgate.results.record import Diagnosis
from bitgate.results.report.result import extent_line
