"""Lint of a root on disk."""
