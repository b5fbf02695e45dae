"""Small trials that decide the shape of the store. Figures: docs/why/store.md. Run: python -m bench.trials.<name>."""
