"""Engines that run the shards of a night, a file each."""
