# What type checkers know of ``import bitgate``; tests/api holds it to __init__.py. A stub, so that no import of this
# package (for its version) counts as one of all that it offers.
from bitgate import kernel as kernel
from bitgate import operation as operation
from bitgate import testing as testing
from bitgate.api import load as load
from bitgate.api import plan as plan
from bitgate.api import problem as problem
from bitgate.api import problems as problems
from bitgate.api import verify as verify
from bitgate.core.errors import UsageError as UsageError
from bitgate.results.record import Outcome as Outcome
from bitgate.results.record import Verdict as Verdict

__version__: str
