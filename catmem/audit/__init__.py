"""What became of writes: the audit log, and rebuilding from the log of revisions."""
