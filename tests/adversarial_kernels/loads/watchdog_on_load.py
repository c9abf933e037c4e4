"""A library that starts a thread while it is loaded, which ends the process later."""

from .library import healthy_beside

FAMILY = healthy_beside("watchdog_on_load")
