"""Probes of the platform. They run first; if one is red, the rest of the run is NOT_RUN for that reason."""

from bitgate.testing import verified

test_probe = verified("platform")
