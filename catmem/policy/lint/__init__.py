"""Lint: rules over memory files, profiles and configuration. Values in, diagnostics out; the service does the I/O."""
