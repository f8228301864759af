"""Search, and what is counted as used."""
