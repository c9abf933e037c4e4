"""The operations that bitgate knows, one folder each; nothing outside imports one by name (bitgate.model)."""
