"""The texts of the races on a database: entries, each with tokens that nobody else ever writes."""

import re

ENTITIES = ("trinity/user", "neo/user")
KEPT = 20
"""Entries that whoever shortens a document leaves in it."""

DELIMITER = "\n§\n".encode()
_TOKEN = re.compile(rb"\b(?:client|tool)-\w+-\d{6}\b")


def tokens(text: bytes) -> set[str]:
    """The tokens in a text, wherever they stand."""
    return {found.decode() for found in _TOKEN.findall(text)}


def with_entry(text: bytes, token: str) -> bytes:
    """The text without its oldest entries, and with one more."""
    entries = [entry for entry in text.rstrip(b"\n").split(DELIMITER) if entry]
    return DELIMITER.join([*entries[-KEPT:], token.encode()]) + b"\n"
