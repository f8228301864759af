"""The memory tool, for every door through which an agent comes in."""
