"""What a job is: pure values and functions, no input or output."""
