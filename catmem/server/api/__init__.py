"""The HTTP API: what each path gives and takes stands in ``openapi``, and its document is made from that."""
