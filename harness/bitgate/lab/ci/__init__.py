"""Where the suites run: targets and pools, and the job matrix of a workflow. Needs no GPU and no HIP."""
