"""Django: the address of its database, its transactions, its connections around task functions."""
