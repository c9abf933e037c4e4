"""Generic mutants of kernel sources: hundreds in one library with a run-time switch, and the suites' score."""
