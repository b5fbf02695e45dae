"""How ended jobs are removed: by retention, and by a person who deletes them."""
