"""How many jobs ended when, and how long they waited and ran: counted as they end, kept when they are removed."""
