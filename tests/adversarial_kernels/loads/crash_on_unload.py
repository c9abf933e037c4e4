"""A library that crashes when its process ends: after the verdict, which is right."""

from .library import healthy_beside

FAMILY = healthy_beside("crash_on_unload")
