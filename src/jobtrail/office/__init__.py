"""Office: modules under watch. A plug-in."""
