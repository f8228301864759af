"""The interface of models: the memory tool, and the tools that an MCP server offers."""
