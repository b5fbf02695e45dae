"""The live topics of plug-ins: a function for each, asked again every second while somebody listens."""

from __future__ import annotations

from functools import partial
from json import dumps, loads
from typing import TYPE_CHECKING

from jobtrail.api.auth.access import ROLES
from jobtrail.api.problems import Problem
from jobtrail.job.json_value import encode_result
from jobtrail.job.masking import masked
from jobtrail.messages import Message

from .topics import Found, Subscribe, Whole

if TYPE_CHECKING:
    from jobtrail.api.context import ApiContext
    from jobtrail.plugins.parts import PluginTopic

    from .topics import Look, Topics

EVERY = 1.0  # seconds


def topics_of(context: ApiContext) -> Topics:
    """Return the topics of all plug-ins by full name, ``<plug-in>.<topic>``."""
    return {
        f"{plugin}.{part.name}": partial(_look, f"{plugin}.{part.name}", part)
        for plugin, part in context.jobs.plugins.topics()
    }


def _look(name: str, part: PluginTopic, context: ApiContext, said: Subscribe, role: str) -> Look:
    """Raises: Problem 403 for a role below that of the topic."""
    if ROLES.index(role) < ROLES.index(part.role):
        raise Problem(403, "role-needed", Message("api.needs-role", role=part.role, mine=role), role=part.role)
    return Whole((name, said.parameter), EVERY, partial(_read, context, part, said.parameter))


def _read(context: ApiContext, part: PluginTopic, parameter: str) -> Found:
    """Call the function. It is JSON, as far as it goes, and without secrets.

    Raises: RuntimeError for what is no Exception: it must not end the loop that reads.
    """
    try:
        text, _ = encode_result(part.function(context.jobs, parameter))
    except Exception:
        raise
    except BaseException as error:
        message = f"{type(error).__name__}: {error}"
        raise RuntimeError(message) from error
    return Found({"value": dumps(masked(loads(text))) if text else "null"})
