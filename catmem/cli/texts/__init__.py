"""What people read of an outcome, by the type of what was done or the name of the operation."""
