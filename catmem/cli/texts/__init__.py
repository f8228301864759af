"""What people read of an outcome, by the type of what was done: a module for each group of operations."""
