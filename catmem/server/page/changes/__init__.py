"""What a person changes on a page, one module a kind of change."""
