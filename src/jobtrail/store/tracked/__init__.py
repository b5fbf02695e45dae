"""Jobs that another system executes and jobtrail records."""
