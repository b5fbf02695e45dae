"""Response models of the API."""
