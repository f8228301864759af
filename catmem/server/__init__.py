"""``catmem serve``: memory over HTTP, for agents on other machines, for monitoring, and for the person in a browser.

Needs the extra ``server``. Importing this package, ``settings``, ``caller``, ``errors`` and ``tokens`` does not.
"""
