"""Generic mutants of kernel sources: hundreds in one library behind a run-time switch, and the suites' score."""
