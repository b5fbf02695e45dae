"""Every public name has a docstring that describes its parameters: the API reference is rendered from them."""

from __future__ import annotations

import inspect
import re
from functools import cached_property

import pytest

import jobtrail
from jobtrail import testing
from jobtrail.commands.groups import Group
from jobtrail.job.model import FileInput
from jobtrail.schedules.service import Schedules

OWN = [getattr(jobtrail, name) for name in jobtrail.__all__ if name != "__version__"]
HELPERS = [
    value for name, value in vars(testing).items()
    if not name.startswith("_") and getattr(value, "__module__", "").startswith("jobtrail.testing")
]  # fmt: skip
PUBLIC = [one for one in [*OWN, *HELPERS, Group, Schedules, FileInput] if inspect.isroutine(one) or inspect.isclass(one)]


def parameters(function) -> list[str]:
    found = inspect.signature(function).parameters
    return [name for name in found if name not in {"self", "cls"} and not name.startswith("_")]


def undescribed(function, text: str | None) -> list[str]:
    """Parameters without a line of their own (``name: what it is``)."""
    described = set(re.findall(r"^\s*\*{0,2}(\w+): ", text or "", re.MULTILINE))
    return [name for name in parameters(function) if name not in described]


def members(owner) -> list[tuple[str, object]]:
    """Public methods and properties that our own classes define."""
    ours = [one for one in reversed(owner.__mro__) if one.__module__.startswith("jobtrail")]
    found = {name: value for one in ours for name, value in vars(one).items() if not name.startswith("_")}
    return [
        (name, value) for name, value in found.items()
        if inspect.isroutine(value) or isinstance(value, property | cached_property | classmethod | staticmethod)
    ]  # fmt: skip


def _plain(value):
    if isinstance(value, property):
        return value.fget
    return value.func if isinstance(value, cached_property) else getattr(value, "__func__", value)


@pytest.mark.parametrize("one", PUBLIC, ids=lambda one: one.__name__)
def test_each_public_name_describes_its_parameters(one):
    own = "__doc__" in vars(one) if inspect.isclass(one) else True
    assert own, f"{one.__name__} has no docstring"
    assert one.__doc__, f"{one.__name__} has no docstring"
    assert not one.__doc__.startswith(f"{one.__name__}("), "the docstring is the one that dataclasses make"
    if inspect.isclass(one) and (issubclass(one, BaseException) or not _constructed(one)):
        return
    assert undescribed(one, one.__doc__) == []


def _constructed(one) -> bool:
    """Is it made by programs themselves? The others are returned by a call, so nobody passes their arguments."""
    return one in {jobtrail.JobTrail, jobtrail.Partial, jobtrail.Period, jobtrail.Plugin, jobtrail.Retry, jobtrail.Snooze,
                   jobtrail.Exponential, testing.MovableClock}  # fmt: skip


@pytest.mark.parametrize("owner", [one for one in PUBLIC if inspect.isclass(one)], ids=lambda one: one.__name__)
def test_each_public_method_describes_its_parameters(owner):
    wrong = []
    for name, value in members(owner):
        text = inspect.getdoc(_plain(value))
        if not text:
            wrong.append(f"{owner.__name__}.{name}: no docstring")
        elif not isinstance(value, property | cached_property):
            wrong += [f"{owner.__name__}.{name}: {one}" for one in undescribed(_plain(value), text)]
    assert wrong == []
