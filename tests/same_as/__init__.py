"""The differential run: two builds of catmem play the same stories, and what a user can see is compared."""
