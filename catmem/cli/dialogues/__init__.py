"""Dialogues with a person at a terminal: a module each, with its ``DIALOGUE``."""
