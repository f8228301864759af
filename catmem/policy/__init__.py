"""What a root and its profiles say: who may see what, what is still true, what a prompt holds."""
