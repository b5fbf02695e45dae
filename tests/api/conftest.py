"""The API over an application with a few tasks, on both databases; `client` is on this machine, `seen_as` has a role."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from api_app import HERE, OURS, add_tasks
from kept_routes import kept_routes
from starlette.testclient import TestClient
from trails import *  # noqa: F403 - fixtures
from trails import _migrated_file, _shared_database  # noqa: F401

from jobtrail.api import Person

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from jobtrail import JobTrail



@pytest.fixture(autouse=True)
def _kept_routes() -> Iterator[None]:
    with kept_routes():
        yield


@pytest.fixture
def app_jobs(make_jobs: Callable[..., JobTrail], tmp_path: Path) -> JobTrail:
    """An application with tasks, over an empty database."""
    return add_tasks(make_jobs(upload_folder=tmp_path / "uploads"))


@pytest.fixture
def clients(app_jobs: JobTrail) -> Iterator[Callable[..., TestClient]]:
    """Makes clients; options as for `create_api`, and ``address`` for where the client is."""
    made: list[TestClient] = []

    def make(*, address: str = "127.0.0.1", headers: dict[str, str] | None = None, **options: Any) -> TestClient:
        app = app_jobs.asgi(**options)
        client = TestClient(
            app, HERE, client=(address, 50_000), headers=OURS if headers is None else headers, raise_server_exceptions=False
        )
        made.append(client)
        return client

    yield make
    for one in made:
        one.close()


@pytest.fixture
def client(clients: Callable[..., TestClient]) -> TestClient:
    """Whoever is on this machine: an admin."""
    return clients()


@pytest.fixture
def seen_as(app_jobs: JobTrail) -> Iterator[Callable[[str | None], TestClient]]:
    """A client whose host says that it is Ann with this role, or nobody; all of them ask one application of the host."""
    app: Any = None
    made: list[TestClient] = []

    def see(role: str | None) -> TestClient:
        nonlocal app
        app = app or app_jobs.asgi(login=_ann)
        headers = OURS if role is None else {**OURS, ROLE: role}
        made.append(TestClient(app, HERE, client=("127.0.0.1", 50_000), headers=headers, raise_server_exceptions=False))
        return made[-1]

    yield see
    for one in made:
        one.close()


ROLE = "X-Role-Of-Ann"


def _ann(request: Any) -> Person | None:
    return Person("ann", request.headers[ROLE]) if ROLE in request.headers else None
