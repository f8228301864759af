"""Envelopes: writes that say who writes what on which revision, with a signature that vouches for all of it."""
