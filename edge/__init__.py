"""The MCP edge: HTTP and JSON-RPC on one side, gRPC on the other. It decides nothing and holds no data."""
