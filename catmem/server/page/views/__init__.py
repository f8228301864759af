"""What each address shows: plain functions from what was asked to a template and its values."""
