"""What a running body is given: context, item loops, steps, recorder and log."""
