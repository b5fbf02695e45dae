"""The build hook: a wheel and an sdist carry the built console, so that installing them needs no Node."""

from __future__ import annotations

import importlib.util
import os
from pathlib import Path
from types import ModuleType
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class ConsoleHook(BuildHookInterface[Any]):
    """Builds the console before the files are gathered."""

    PLUGIN_NAME = "custom"

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Build what is out of date. An editable install only warns where it cannot; `make console` tells more.

        Raises: CannotBuild for a wheel or an sdist without Node.
        """
        del build_data
        console = _console(Path(self.root))
        if console is None or os.environ.get("JOBTRAIL_NO_CONSOLE"):
            return
        try:
            console.build()
        except console.CannotBuild as error:
            if version != "editable":
                raise
            self.app.display_warning(str(error))


def _console(root: Path) -> ModuleType | None:
    """The module that builds; an sdist has the built files and may lack it."""
    path = root / "web" / "build.py"
    found = importlib.util.spec_from_file_location("jobtrail_console_build", path) if path.is_file() else None
    if found is None or found.loader is None:
        return None
    module = importlib.util.module_from_spec(found)
    found.loader.exec_module(module)
    return module
