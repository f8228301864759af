"""What catmem puts into Hermes Agent: a memory provider, and a store in the place of its own."""

from __future__ import annotations
