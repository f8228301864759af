"""What could be tidier in memory: entries that say the same, and entries to look at together.

::

    files of a root ── root_tidy ──> entries ── suggestions, by likeness ──> two lists for a person, or a model first
"""
