"""A library that does not come back from being loaded, for a minute and a half."""

from .library import healthy_beside

FAMILY = healthy_beside("hang_on_load")
