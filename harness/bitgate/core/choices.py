"""Names that commands, files and the environment choose from: each list once."""

from __future__ import annotations

SMOKE, REGRESSION = TIERS = ("smoke", "regression")
"""Each holds those before it."""

REFERENCES = ("auto", "exact", "ordered", "gpu", "checksum", "none")
"""What a result is compared with. ``none``: guards and dispatch are checked, and no bits."""

FORGES = ("github", "gitlab", "jenkins")
"""Backends that start a pool's jobs by themselves, on machines with its labels."""
ENGINES = ("slurm", "dask", "local")
"""Backends that `bitgate ci submit` hands a pool's jobs to."""

JUNIT_DIALECTS = ("strict", "github", "gitlab", "jenkins", "datadog")
"""How junit.xml is written, the first unless a command or bitgate.toml says otherwise."""
