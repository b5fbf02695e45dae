"""Commands that read and change jobs."""
