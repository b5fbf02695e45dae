"""What a worker claims: how many jobs there is room for, which tasks it leaves to others, and when it looks again."""
