"""Search: the filter grammar, pages and counts."""
