"""What could be tidier in memory: entries said twice, said otherwise, expired, long, or of several facts.

::

    files of a root ── root_tidy ──> entries ── suggestions, by the wording of each ──> a list for a person
"""
