"""A root on disk: its memory as every interface reads it, and the care of its files and stores."""
