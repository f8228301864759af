"""``catmem-mcp`` is ``catmem mcp``: a registry names a command by its distribution alone."""

import sys

from catmem.cli.main import main as catmem


def main() -> None:
    """Serve the memory of a profile to an MCP client."""
    sys.argv[1:1] = ["mcp"]
    catmem()
