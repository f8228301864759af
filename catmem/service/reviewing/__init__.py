"""Going through what is stale or expired, and saying what still holds."""
