"""A library that ends its process while it is loaded."""

from .library import healthy_beside

FAMILY = healthy_beside("exit_on_load")
