"""What a SQLite file needs: its lock, and forks that leave it usable."""
