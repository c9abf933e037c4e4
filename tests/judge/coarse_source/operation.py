"""What the judge must not load: an operation of the task's name whose reference takes everything."""

raise SystemExit("loaded")
