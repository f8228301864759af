"""Prompts: what a profile sees, as text for a system prompt, and what that text is made of."""
