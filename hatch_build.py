"""The build hook: build the console before packaging, so that installing a wheel needs no Node."""

from __future__ import annotations

import importlib.util
import os
from pathlib import Path
from types import ModuleType
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

WITHOUT = "jobtrail is installed without its web console: {reason}"


class ConsoleHook(BuildHookInterface[Any]):
    """Builds the console where it is out of date."""

    PLUGIN_NAME = "custom"

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Build the console.

        Where it cannot be built, a wheel (`pip install .`) and an editable install go on without it, with one
        sentence of warning. An sdist, from which releases are made, must have it: its build ends with that sentence.

        Args:
            version: "standard" or "editable".
            build_data: of hatchling, unchanged.
        """
        del version, build_data
        console = _console(Path(self.root))
        if console is None or os.environ.get("JOBTRAIL_NO_CONSOLE"):
            return
        try:
            console.build()
        except console.CannotBuild as error:
            reason = str(error)
            if self.target_name == "sdist":
                self.app.abort(reason)
            self.app.display_warning(WITHOUT.format(reason=reason))


def _console(root: Path) -> ModuleType | None:
    """Return the module that builds the console, or None: an sdist has the built files and may lack it."""
    path = root / "web" / "build.py"
    found = importlib.util.spec_from_file_location("jobtrail_console_build", path) if path.is_file() else None
    if found is None or found.loader is None:
        return None
    module = importlib.util.module_from_spec(found)
    found.loader.exec_module(module)
    return module
