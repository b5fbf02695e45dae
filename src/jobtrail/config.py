"""Settings: one frozen value with every number that an application may change, and its defaults.

The environment wins over `jobtrail.toml`, that over the keywords of `JobTrail`, those over the defaults here.
"""

from __future__ import annotations

import functools
import os
from dataclasses import dataclass, fields, replace
from typing import TYPE_CHECKING, Annotated, Any, get_type_hints

from jobtrail.messages import Message

from .errors import InvalidOption

if TYPE_CHECKING:
    from pydantic_settings import BaseSettings

DEFAULT_URL = "sqlite:///jobs.db"
ENVIRONMENT = "JOBTRAIL_"


@dataclass(frozen=True, slots=True)
class Settings:
    """All settings with their defaults: the only place of each. Times in seconds, sizes in bytes, retention in days.

    executor: name of the executor of tasks that name none.
    slots: jobs that a worker runs at once. poll_interval: longest sleep of a worker.
    keep_completed and so on: days after which ended jobs are removed; None keeps them for ever.
    end_blocked: the beat process ends a worker whose event loop is blocked past a running job's own deadline.
    argument_limit, result_limit, log_limit, error_limit: caps of what is stored of one job.
    upload_folder: folder of uploaded files; None is a folder beside a SQLite database.
    input_roots: folders of the server below which the API accepts a file for a job.
    secret_names: names of arguments, labels and answers that are masked beside those that are always.
    pooler: whether a pooler in transaction mode is in front of PostgreSQL; None to find out.
    notify_url: direct address of the same PostgreSQL database, for LISTEN behind a pooler.
    """

    executor: str = "local"
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
    secret_names: tuple[str, ...] = ()
    keep_completed: float | None = 30
    keep_cancelled: float | None = 30
    keep_partial: float | None = 90
    keep_failed: float | None = 90
    end_blocked: bool = False
    migrate: bool | None = None
    pooler: bool | None = None
    notify_url: str | None = None

    def with_values(self, **values: Any) -> Settings:
        """Return a copy with some values changed.

        Raises:
            InvalidOption: if there is no such setting, or a value is not valid.
        """
        known = {f.name for f in fields(self)}
        for name, value in list(values.items()):
            if name in _PATHS:
                values[name] = _paths(name, value)
                continue
            if name == "secret_names":
                values[name] = _names(name, value)
                continue
            if name not in known:
                raise InvalidOption(Message("config.unknown-setting", name=name, known=sorted(known)))
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


def _names(name: str, value: Any) -> tuple[str, ...]:
    if isinstance(value, (list, tuple)) and all(isinstance(one, str) and one for one in value):
        return tuple(value)
    raise InvalidOption(Message("config.setting-not-names", name=name, value=repr(value)))


def _is_path(value: Any) -> bool:
    return isinstance(value, (str, os.PathLike)) and bool(os.fspath(value))


def _check(name: str, value: Any) -> None:
    if name == "executor":
        if not isinstance(value, str) or not value:
            raise InvalidOption(Message("executors.bad-executor", value=repr(value)))
        return
    if name == "notify_url":
        if value is not None and (not isinstance(value, str) or not value):
            raise InvalidOption(Message("config.setting-not-address", name=name))
        return
    if name in {"migrate", "pooler"}:
        good = value is None or isinstance(value, bool)
    elif name == "end_blocked":
        if not isinstance(value, bool):
            raise InvalidOption(Message("config.setting-not-boolean", name=name, value=repr(value)))
        return
    elif name.startswith("keep_") and value is None:
        good = True
    else:
        good = isinstance(value, (int, float)) and not isinstance(value, bool) and 0 < value < float("inf")
    if not good:
        raise InvalidOption(Message("config.setting-not-number", name=name, value=repr(value)))


def database_url(given: str | None) -> str:
    """Return the address of the database: as given, from JOBTRAIL_URL, or `jobs.db` in the working directory."""
    return given or os.environ.get("JOBTRAIL_URL") or DEFAULT_URL


def from_environment() -> dict[str, Any]:
    """Return the settings that JOBTRAIL_… variables set (``JOBTRAIL_SLOTS=50``), each of its own type.

    pydantic-settings reads them; it is imported only where there is such a variable.

    Raises:
        InvalidOption: if a text cannot be read as the type of its setting.
    """
    given = {f.name: f for f in fields(Settings) if variable_of(f.name) in os.environ}
    if not given:
        return {}
    from pydantic import ValidationError

    try:
        found = _environment_model()()
    except ValidationError as error:
        name = str(error.errors()[0]["loc"][0])
        variable = variable_of(name)
        message = Message("config.bad-variable", text=os.environ[variable], variable=variable, type=given[name].type)
        raise InvalidOption(message) from None
    return found.model_dump(exclude_unset=True)


def variable_of(setting: str) -> str:
    """Return the name of the variable that sets a setting."""
    return ENVIRONMENT + setting.upper()


@functools.cache
def _environment_model() -> type[BaseSettings]:
    """Return the pydantic-settings model of `Settings`: its fields and types, read from variables alone."""
    from pydantic import BeforeValidator, create_model
    from pydantic_settings import BaseSettings, NoDecode, SettingsConfigDict

    class Environment(BaseSettings):
        """Variables; "none" is None, and several paths are separated as in PATH."""

        model_config = SettingsConfigDict(env_prefix=ENVIRONMENT, env_parse_none_str="none", validate_default=False)

    types: dict[str, Any] = get_type_hints(Settings)
    types["input_roots"] = Annotated[tuple[str, ...], NoDecode, BeforeValidator(_split_paths)]
    types["secret_names"] = Annotated[tuple[str, ...], NoDecode, BeforeValidator(_split_names)]
    definitions: Any = {name: (kind, None) for name, kind in types.items()}
    return create_model("Environment", __base__=Environment, **definitions)


def _split_paths(text: str) -> tuple[str, ...]:
    return tuple(text.split(os.pathsep))


def _split_names(text: str) -> tuple[str, ...]:
    return tuple(one.strip() for one in text.split(",") if one.strip())
