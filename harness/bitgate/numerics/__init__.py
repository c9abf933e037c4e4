"""Exactness: integer fills with their certificate, references, digests."""
