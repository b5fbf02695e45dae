"""Django sends ``pre_migrate`` to applications that have this module."""
