"""The file store: plain Markdown files, with their journal in a folder beside them."""
