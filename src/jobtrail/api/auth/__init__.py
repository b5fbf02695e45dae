"""Authentication and authorization of API requests."""
