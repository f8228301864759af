"""A root that is watched: what is new in it, told within a second."""
