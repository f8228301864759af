"""The MCP server: the memory of one profile, for any client that speaks the Model Context Protocol."""
