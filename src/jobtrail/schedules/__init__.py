"""When: rules of time, and the scheduler that makes jobs by them."""
