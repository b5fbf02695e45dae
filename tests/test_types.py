"""Types for users: the options are all known to checkers, and checkers find the mistakes of `tests/types`."""

from __future__ import annotations

import importlib.util
import typing
from dataclasses import fields
from pathlib import Path

import pytest

from jobtrail import Job, JobTrail
from jobtrail.commands.using import Using, UsingOptions
from jobtrail.job.task import OPTION_NAMES
from jobtrail.task_registration import TaskOptions

SCRIPT = Path(__file__).parents[1] / "scripts/check_types.py"


def test_every_option_of_a_task_is_typed() -> None:
    assert typing.get_type_hints(TaskOptions, localns=_names()).keys() == OPTION_NAMES | {"options"}


def test_every_option_of_a_submission_is_typed() -> None:
    assert set(UsingOptions.__annotations__) == {one.name for one in fields(Using)} - {"then"}


def _names() -> dict[str, object]:
    return dict.fromkeys(("Limit", "Retry", "Middleware", "timedelta"), object)


def test_options_of_a_middleware_may_be_in_a_mapping(tmp_path: Path) -> None:
    async def limited(run: object, call_next: object) -> None:
        """Do nothing."""

    limited.options = ("rate",)  # type: ignore[attr-defined]
    jobs = JobTrail(f"sqlite:///{tmp_path / 'jobs.db'}", middleware=[limited])  # type: ignore[list-item]

    @jobs.task(options={"rate": 5})
    def work(n: int) -> int:
        return n

    @jobs.task(rate=6)  # type: ignore[call-overload]
    def more(n: int) -> int:
        return n

    assert [one.task.options for one in (work, more)] == [{"rate": 5}, {"rate": 6}]
    assert isinstance(Job[int], typing._GenericAlias)  # type: ignore[attr-defined]


@pytest.mark.long
def test_checkers_find_every_mistake_and_nothing_else() -> None:
    spec = importlib.util.spec_from_file_location("check_types", SCRIPT)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    assert len(module.marked()) > 30
    assert module.differences(module.by_mypy()) == []
    found = module.by_pyright()
    assert found is None or module.differences(found) == []
