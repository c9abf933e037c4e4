"""Plans of runs, made from a project's suites: shards, nights, mutation trials, and what a change selects."""
