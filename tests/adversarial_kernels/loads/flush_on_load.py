"""A library that flushes subnormal numbers from its loading on, as one linked with -ffast-math does."""

from .library import healthy_beside

FAMILY = healthy_beside("flush_on_load")
