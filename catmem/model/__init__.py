"""The document over its text, and what can be done with it: edits, layouts, bodies."""
