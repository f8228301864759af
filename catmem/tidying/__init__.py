"""What could be tidier in memory: entries that say the same, and entries to look at together."""
