"""The catalogue of sentences: a code with parameters becomes text in the language of the reader.

Everything that jobtrail says to people (errors, reasons, notes, rules of time) is a `Message`. The texts are in
``en/*.ftl`` and ``ru/*.ftl``, one file for each room, in the Fluent format. docs/why/messages.md gives the reasons.
"""

from .catalogue import LANGUAGES, codes
from .language import current_language, from_accept_language, from_environment, use_language
from .message import Message, read, render, stored, tr

__all__ = [
    "LANGUAGES",
    "Message",
    "codes",
    "current_language",
    "from_accept_language",
    "from_environment",
    "read",
    "render",
    "stored",
    "tr",
    "use_language",
]
