"""Tools read from files: OpenAI's JSON, MCP `tools/list`, OpenAPI 3 documents, Python modules."""
