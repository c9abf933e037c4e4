"""What all tests rely on."""

from __future__ import annotations

import signal

# A job in the background of a shell ignores Ctrl-C, and so would every process that a test starts to interrupt it.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)
