"""Search over what a profile sees, and how often an entry was shown."""
