"""A static site of a history: nights, cases, machines, flaky cases and first bad runs, as files without a server."""
