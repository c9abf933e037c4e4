"""Solved tiers: lists of cases that reach every pair of classes, and triples as far as seconds go."""
