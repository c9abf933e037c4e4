"""``checkout.py REPOSITORY FOLDER``: what a job of Jenkins checks out, for ``jenkins.groovy``."""

import sys
from pathlib import Path

from machine import Machine

repository, folder = map(Path, sys.argv[1:])
Machine(repository, folder.parent).checkout(folder)
