"""Office: modules under watch. A plug-in: ``JobTrail(plugins=[Office()])``."""

from .plugin import Office

__all__ = ["Office"]
