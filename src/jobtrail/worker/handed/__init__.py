"""Jobs that come by a ticket from another system: their host, the thread that brings a ticket, and what waits to be claimed."""
