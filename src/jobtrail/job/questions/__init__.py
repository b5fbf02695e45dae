"""Questions: schema, mapping and validation of what a person answers."""
