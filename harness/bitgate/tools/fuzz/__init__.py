"""Random problems until something is wrong, and the smallest problem that still is."""
