"""Lint: rules over memory files, profiles and configuration, and the files of a root that they run on."""
