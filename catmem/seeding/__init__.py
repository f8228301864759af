"""Seeding: slices of one profile's memory, copied to others again and again."""
