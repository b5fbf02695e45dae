"""What is read from the terminal."""
