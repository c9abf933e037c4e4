"""The timing that benchdnn's options ask for."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace

from bitgate.interop.perf_request import PerfRequest

_MODES = {
    "C": "correctness",
    "P": "performance",
    "F": "fast performance",
    "S": "simulation performance",
    "B": "bitwise",
    "R": "run",
    "I": "init",
    "L": "listing",
}
_TIMED = frozenset("PFS")
FAST_MILLISECONDS = 10.0
"""What mode F spends on a problem."""
MILLISECONDS = (1e1, 6e4)
"""What ``--max-ms-per-prb`` may be; benchdnn takes the nearer end of what is beyond."""
_CHOOSE = ("impl", "skip-impl", "global-impl")
MOST_TIMES = 1_000_000


def perf_request(options: Mapping[str, str]) -> PerfRequest:
    """Return the request of the options by name. A line without a mode does not say that it is not timed."""
    mode = options.get("mode", "P").upper()
    if not mode or set(mode) - set(_MODES):
        known = ", ".join(f"{letter} ({name})" for letter, name in _MODES.items())
        return PerfRequest(refusal=f"--mode={options['mode']} is not understood: {known} are")
    if not _TIMED & set(mode):
        return PerfRequest(refusal=f"--mode={options['mode']} asks for no timing: P does, and bitgate verify runs C")
    template = options.get("perf-template", "def")
    if template != "def":
        return PerfRequest(refusal=f"--perf-template={template} is not understood: times are printed as bitgate's own")
    request = PerfRequest(cold=options.get("cold-cache", "none") not in ("", "none"))
    for name in ("fix-times-per-prb", "max-ms-per-prb"):
        if not re.fullmatch(r"\d{1,9}(\.\d*)?(e\d)?", options.get(name, "0")):
            return PerfRequest(refusal=f"--{name}={options[name]} is not a number")
    times, milliseconds = int(float(options.get("fix-times-per-prb", "0"))), float(options.get("max-ms-per-prb", "0"))
    if times > MOST_TIMES:
        return PerfRequest(refusal=f"--fix-times-per-prb={times}: {MOST_TIMES} launches are timed at most")
    if milliseconds:
        request = replace(request, seconds=min(max(milliseconds, MILLISECONDS[0]), MILLISECONDS[1]) / 1e3)
    elif "F" in mode:
        request = replace(request, seconds=FAST_MILLISECONDS / 1e3)
    if times or "S" in mode:
        request = replace(request, launches=times or 1, seconds=None)
    if chosen := [f"--{name}" for name in _CHOOSE if options.get(name)]:
        request = request.noting(
            f"implementations are chosen by their names there ({', '.join(chosen)}): here all are timed"
        )
    return request
