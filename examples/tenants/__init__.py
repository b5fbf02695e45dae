"""A port in small: an application with tenants leaves its own table of loads for jobtrail."""
