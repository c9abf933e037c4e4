"""``python -m bitgate``: the command line where the console script is not installed."""

from bitgate.cli.main import main

main()
