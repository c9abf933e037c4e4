"""A library that crashes while it is loaded."""

from .library import healthy_beside

FAMILY = healthy_beside("crash_on_load")
