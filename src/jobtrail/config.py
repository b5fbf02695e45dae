"""Settings: one frozen value with every number that an application may change, and where it comes from."""

from __future__ import annotations

import os
from dataclasses import dataclass, fields, replace
from typing import Any

from jobtrail.messages import Message

from .errors import InvalidOption

DEFAULT_URL = "sqlite:///jobs.db"
ENVIRONMENT = "JOBTRAIL_"


@dataclass(frozen=True, slots=True)
class Settings:
    """Defaults of DESIGN §8; times in seconds, sizes in bytes.

    slots: bodies a worker runs at once. poll_interval: how long a worker sleeps at most.
    keep_completed and so on: days after which upkeep removes ended jobs; None keeps them for ever.
    end_blocked: the beat process ends a worker whose event loop is blocked past a running job's own deadline.
    argument_limit, result_limit, log_limit, error_limit: caps of what is stored of one job.
    upload_folder: where files are kept that are handed over for jobs; None is a folder beside a SQLite database.
    input_roots: folders of the server below which a job may be given a file over the network.
    """

    slots: int = 20
    poll_interval: float = 1.0
    flush_interval: float = 0.25
    beat_interval: float = 5.0
    silent_after: float = 15.0
    sweep_interval: float = 2.0
    scheduler_lease: float = 10.0
    graceful_shutdown_timeout: float = 25.0
    cancel_timeout: float = 5.0
    hook_timeout: float = 10.0
    spool_after: float = 60.0
    put_back_delay: float = 30.0
    put_back_limit: int = 10
    submit_retry_seconds: float = 10.0
    idempotency_seconds: float = 86_400.0
    argument_limit: int = 262_144
    result_limit: int = 1_048_576
    log_limit: int = 1_048_576
    error_limit: int = 65_536
    upload_folder: str | None = None
    upload_limit: int = 1_073_741_824
    input_roots: tuple[str, ...] = ()
    keep_completed: float | None = 30
    keep_cancelled: float | None = 30
    keep_partial: float | None = 90
    keep_failed: float | None = 90
    end_blocked: bool = False
    migrate: bool | None = None

    def with_values(self, **values: Any) -> Settings:
        """A copy with some values changed.

        Raises: InvalidOption for a name that there is not, or a number that cannot be.
        """
        known = {f.name for f in fields(self)}
        for name, value in list(values.items()):
            if name in _PATHS:
                values[name] = _paths(name, value)
                continue
            if name not in known:
                message = Message("config.unknown-setting", name=name, known=sorted(known))
                raise InvalidOption(message)
            _check(name, value)
        return replace(self, **values)


_PATHS = ("upload_folder", "input_roots")


def _paths(name: str, value: Any) -> Any:
    """One path or None, or several."""
    single = isinstance(value, (str, os.PathLike))
    if name == "upload_folder" and (single or value is None):
        return None if value is None else os.fspath(value)
    given = [value] if single else value
    if name == "upload_folder" or not isinstance(given, (list, tuple)) or not all(map(_is_path, given)):
        code = "config.setting-not-path" if name == "upload_folder" else "config.setting-not-paths"
        raise InvalidOption(Message(code, name=name, value=repr(value)))
    return tuple(os.fspath(one) for one in given)


def _is_path(value: Any) -> bool:
    return isinstance(value, (str, os.PathLike)) and bool(os.fspath(value))


def _check(name: str, value: Any) -> None:
    if name == "migrate":
        good = value is None or isinstance(value, bool)
    elif name == "end_blocked":
        if not isinstance(value, bool):
            message = Message("config.setting-not-boolean", name=name, value=repr(value))
            raise InvalidOption(message)
        return
    elif name.startswith("keep_") and value is None:
        good = True
    else:
        good = isinstance(value, (int, float)) and not isinstance(value, bool) and 0 < value < float("inf")
    if not good:
        message = Message("config.setting-not-number", name=name, value=repr(value))
        raise InvalidOption(message)


def database_url(given: str | None) -> str:
    """The address of the database: as given, or from JOBTRAIL_URL, or a file in the working directory."""
    return given or os.environ.get("JOBTRAIL_URL") or DEFAULT_URL


def from_environment(base: Settings) -> Settings:
    """Settings from JOBTRAIL_… variables (JOBTRAIL_SLOTS=50), on top of ``base``."""
    values: dict[str, Any] = {}
    for f in fields(base):
        text = os.environ.get(ENVIRONMENT + f.name.upper())
        if text is not None:
            values[f.name] = _parse(f.name, text, getattr(base, f.name))
    return base.with_values(**values) if values else base


def _parse(name: str, text: str, default: Any) -> Any:
    if name in _PATHS:
        return text if name == "upload_folder" else tuple(text.split(os.pathsep))
    try:
        if name in {"migrate", "end_blocked"}:
            return {"1": True, "true": True, "yes": True, "0": False, "false": False, "no": False}[text.lower()]
        return int(text) if isinstance(default, int) else float(text)
    except (ValueError, KeyError):
        message = Message(
            "config.bad-variable", text=text, variable=f"{ENVIRONMENT}{name.upper()}", type=type(default).__name__
        )
        raise InvalidOption(message) from None
