"""The stand-in is a module beside the tests that use it."""

from __future__ import annotations
