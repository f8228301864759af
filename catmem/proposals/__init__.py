"""Proposals: writes that wait until a person says yes. Each is a branch in the history, in no file and no prompt.

::

    a write that waits ── propose ──> a branch, pinned to its base ──┬── approve ──> merged, if no pinned entry changed
                                                                     └── reject ───> closed, with a reason
"""
