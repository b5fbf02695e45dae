"""Notifications: rules over the trail and over announced events, channels, deliveries, the inbox."""

from .events import Announcement, announce, announce_all

__all__ = ["Announcement", "announce", "announce_all"]
