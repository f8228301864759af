"""What a person settles on the page: branches, old revisions, edits from outside, seeds."""
