"""The table of operations: what a caller can do, a row each, by group."""
