"""What a root and its profiles say: ``catmem.yaml``, profiles, and who may see and write which category."""
