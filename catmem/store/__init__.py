"""Where revisions live: bytes, records and the writes that lose none. No Markdown in here."""
