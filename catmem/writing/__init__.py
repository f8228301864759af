"""Writes: what is asked, what is refused, and the one way into a store."""
