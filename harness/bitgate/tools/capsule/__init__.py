"""Capsules: one case as device code, launches, data and expected result, for a ticket, a debugger or an emulator."""
