"""Errors that end a command with exit code 2 and one line: what is wrong, where, and what to do."""


class UsageError(Exception):
    """A bad argument, file or environment. The message is for the user; no traceback is shown."""
