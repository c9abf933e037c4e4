"""The build cache: a folder of what was built or learned before, and the hashes by which it is found again."""

from bitgate.kernel.cache.folder import Cache

__all__ = ["Cache"]
