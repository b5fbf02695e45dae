"""Plug-ins: what a package brings to an application under a name of its own."""
