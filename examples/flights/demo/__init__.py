"""The demonstration, `jobtrail demo`: load real data with real jobs, correct it, run again what failed."""
