"""What notifications show in the console: the page Notifications."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from jobtrail.plugins.plugin import Plugin


def add_to(plugin: Plugin) -> None:
    """Declare the page."""
    plugin.page("messages", title={"en": "Notifications", "ru": "Уведомления"}, module="messages.js")
