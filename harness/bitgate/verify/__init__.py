"""One case to one verdict: ``verify(planned, session)``."""
