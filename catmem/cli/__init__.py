"""The command line: arguments in, a workspace's answers out. No rule of the product lives here."""

from __future__ import annotations
