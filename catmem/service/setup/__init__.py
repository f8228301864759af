"""Making a root."""
