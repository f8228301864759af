"""Dialogues with a person, each asked for by its name."""
