"""bitgate gates GPU kernels on bits."""

__version__ = "0.1.0"
