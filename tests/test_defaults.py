"""Every default has one source: what the command, the API and the docs say is compared with it."""

from __future__ import annotations

import inspect
import re
from dataclasses import MISSING, fields

import pytest

from jobtrail.api.routes import jobs as job_routes
from jobtrail.api.routes import units as unit_routes
from jobtrail.cli.commands import actions
from jobtrail.cli.commands import backfill as backfill_command
from jobtrail.cli.commands import submit as submit_command
from jobtrail.cli.input import schedule_options
from jobtrail.commands.job_handle import Job
from jobtrail.commands.using import Using
from jobtrail.config import Settings
from jobtrail.job.task import KEPT, Task
from jobtrail.job.worker_loss import Lost
from jobtrail.messages import codes
from jobtrail.schedules.backfill import backfill
from jobtrail.schedules.definition import DEFAULTS
from jobtrail.store.retention import Retention
from jobtrail.store.submissions import Rules


def parameter(function, name):
    return inspect.signature(function).parameters[name].default


def field_of(kind, name):
    return next(one.default for one in fields(kind) if one.name == name)


def model_default(model, name):
    return model.model_fields[name].default


@pytest.mark.parametrize("name", ["parallel", "order", "only"])
def test_a_backfill_is_the_same_from_the_command_and_the_api(name):
    source = parameter(backfill.submit if name == "parallel" else backfill.plan, name)
    assert parameter(backfill_command.backfill, name) == source
    if name != "only":  # the API's question is another one: what is missing or went wrong
        assert model_default(unit_routes.BackfillStart, name) == source


@pytest.mark.parametrize("name", ["if_active", "if_done"])
def test_a_submission_is_the_same_from_the_command_the_api_and_python(name):
    source = field_of(Using, name)
    assert field_of(Rules, name) == source
    assert parameter(submit_command.submit, name) == source
    assert model_default(job_routes.Submission, name) == source


@pytest.mark.parametrize("name", ["mode", "if_active"])
def test_a_rerun_is_the_same_from_the_command_the_api_and_python(name):
    source = parameter(Job.rerun, name)
    assert parameter(actions.rerun, name) == source
    assert model_default(job_routes.Rerun, name) == source


def test_what_happens_to_an_interrupted_job_is_an_option_of_the_task():
    assert field_of(Lost, "on_interrupt") == field_of(Task, "on_interrupt")


def test_retention_has_no_defaults_but_those_of_the_settings():
    assert all(one.default is MISSING for one in fields(Retention))
    settings = Settings()
    assert {name: getattr(Retention.of(settings), name) for name in KEPT} == {
        name: getattr(settings, f"keep_{name}") for name in KEPT
    }


def test_options_of_the_command_name_the_defaults_of_a_schedule():
    lengths = {"24h": 86_400.0, "60s": 60.0}
    written = {}
    for name, option in schedule_options.OPTIONS.items():
        found = re.search(r"(\w+) \(default\)", codes()[option.__metadata__[0].help])
        if found is not None:
            written[name] = lengths.get(found[1], found[1])
    assert written == {name: DEFAULTS[name] for name in written}
    assert set(written) == {"catch_up", "window", "grace", "overlap", "if_done"}


def test_no_help_text_repeats_the_number_of_a_setting():
    """The application, a file or a variable may set it otherwise: the help names the setting."""
    texts = {code: text for code, text in codes().items() if code.startswith("help.")}
    assert len(texts) > 100
    assert [code for code, text in texts.items() if re.search(r"\(default:? \d", text)] == []
