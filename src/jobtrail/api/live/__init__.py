"""Live updates over WebSocket and server-sent events."""
