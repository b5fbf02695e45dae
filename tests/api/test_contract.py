"""The whole description of the API, asked by schemathesis in every role: it says what is true, and nobody does what he may not."""

from __future__ import annotations

import pytest
from contract import NOBODY, Asking, World

BELOW = (NOBODY, "viewer", "operator")


@pytest.fixture
def world(make_jobs, tmp_path):
    return World(make_jobs, tmp_path)


@pytest.mark.parametrize("url", ["sqlite"], indirect=True)
@pytest.mark.timeout(300)
def test_every_operation_keeps_to_its_description(world):
    asking = Asking(world, "admin")
    asking.all(covering=5, drawn=1)
    assert not asking.faults, asking.told()


@pytest.mark.parametrize("url", ["sqlite"], indirect=True)
@pytest.mark.timeout(300)
def test_nobody_does_what_his_role_may_not(world):
    asking = Asking(world, *BELOW)
    asking.all(covering=2, drawn=0)
    assert not asking.faults, asking.told()


@pytest.mark.long
@pytest.mark.timeout(7200)
def test_every_operation_keeps_to_its_description_asked_at_length(world):
    asking = Asking(world, "admin")
    asking.all(covering=10_000, drawn=60)
    assert not asking.faults, asking.told()


@pytest.mark.long
@pytest.mark.timeout(7200)
def test_nobody_does_what_his_role_may_not_asked_at_length(world):
    asking = Asking(world, *BELOW)
    asking.all(covering=25, drawn=10)
    assert not asking.faults, asking.told()


@pytest.mark.long
@pytest.mark.timeout(3600)
def test_operations_in_any_order_keep_to_their_description(world):
    asking = Asking(world, "admin")
    asking.in_any_order("admin")
    assert not asking.faults, asking.told()
