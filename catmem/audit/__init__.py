"""What became of writes: the audit log, what a rollout lets pass, and rebuilding from the log of revisions."""
