"""Tests of the spine share a helper module."""

from __future__ import annotations
