"""Addresses of the page: whether one is its own, and how one gets a query."""

from __future__ import annotations

from urllib.parse import parse_qsl, urlencode, urlsplit, urlunsplit

DID = "did"
"""What the query of a page calls the revision that a form just wrote."""

_LONGEST = 2_000


def own_address(address: str) -> str:
    """An address if it is a page of ours, without what was done last and without a place on it; else the overview."""
    return with_query(address).partition("#")[0] if is_own_address(address) else "/"


def is_own_address(address: str) -> bool:
    """Whether an address is a place of this page and nowhere else."""
    if not (address.startswith("/") and address.isascii() and address.isprintable() and len(address) <= _LONGEST):
        return False
    if address.startswith("//") or "\\" in address:
        return False
    parts = urlsplit(address)
    return not (parts.scheme or parts.netloc)


def with_query(address: str, **said: str | None) -> str:
    """An address whose query also says this, in the place of what it said of ``did`` and the same names.

    ``None`` takes a name away.
    """
    parts = urlsplit(address)
    kept = [(name, value) for name, value in parse_qsl(parts.query, keep_blank_values=True) if name not in {DID, *said}]
    added = [(name, value) for name, value in said.items() if value is not None]
    return urlunsplit(parts._replace(query=urlencode([*kept, *added], safe="/@:")))
