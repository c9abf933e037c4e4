"""An operation of the task's name whose reference takes everything: the judge must not load it."""

raise SystemExit("loaded")
