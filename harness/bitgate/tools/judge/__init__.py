"""Judging of submissions: a kernel of unknown authors on a task, with what is expected in another process."""
