"""Agents that race on shared memory in a throw-away place, and what becomes of what they write."""
