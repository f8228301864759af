"""The syntax of memory files: text in, spans out. No module here knows what a document means."""
