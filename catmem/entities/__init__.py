"""Entities that catmem.yaml declares beside the files of profiles: texts and JSON values of several writers."""
