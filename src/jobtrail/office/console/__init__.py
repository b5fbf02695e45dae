"""What Office shows in the console: the page Modules and its strip on the overview."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from jobtrail.plugins.plugin import Plugin


def add_to(plugin: Plugin) -> None:
    """Declare the page."""
    plugin.page("modules", title={"en": "Modules", "ru": "Модули"}, module="modules.js", strip=True)
