"""Whose suites a command goes by, where one may have expected others."""

from __future__ import annotations

import sys
from pathlib import Path

from bitgate.core.project import Project, ours
from bitgate.core.project_file import FILE


def tell_whose(project: Project) -> None:
    """Print one line on stderr if bitgate's suites serve a folder that is not bitgate's."""
    home = ours()
    if project.suites == home.suites and project.file is None and not Path.cwd().is_relative_to(home.root):
        print(f"no {FILE} here or above: these are bitgate's own suites", file=sys.stderr, flush=True)
