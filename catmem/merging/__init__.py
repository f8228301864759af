"""Branches of an entity, and how they are brought together with its head."""
