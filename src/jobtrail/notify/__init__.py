"""Notifications: rules over the trail and over announced events, channels, deliveries, the inbox."""

from .channels.apprise import AppriseChannel
from .channels.base import OutgoingMessage
from .channels.mail import Mail
from .channels.webhook import Webhook
from .events import Announcement, announce, announce_all
from .plugin import Notify
from .rules import AlertRule, QuietHours
from .watchdog import Ping

__all__ = [
    "AlertRule",
    "Announcement",
    "AppriseChannel",
    "Mail",
    "Notify",
    "OutgoingMessage",
    "Ping",
    "QuietHours",
    "Webhook",
    "announce",
    "announce_all",
]
