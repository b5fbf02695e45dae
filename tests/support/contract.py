"""An application with one of everything, asked by schemathesis for all that its description promises, in some role.

What is named like something that is there (a job, a task, a moment of a preview) is mostly given that value, or nearly all
that is drawn at random would end at "there is no such thing".
"""

from __future__ import annotations

import warnings
from functools import cached_property
from random import Random
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qsl, unquote, urlsplit
from zlib import crc32

from api_app import LOOKS, OPEN, OURS, add_tasks
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis.errors import Unsatisfiable
from sqlalchemy import delete, select
from starlette.routing import Match
from starlette.testclient import TestClient

from jobtrail import Plugin
from jobtrail.api.auth.access import ROLES
from jobtrail.api.auth.guard import ANYONE, rule_of
from jobtrail.database.tables import metadata, sessions
from jobtrail.store import tokens
from jobtrail.testing import drain

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from pathlib import Path

    from jobtrail import JobTrail

NOBODY = "nobody"
LOGINS = {"logged_in", "logged_out", "login_failed"}
SAFE = {"GET", "HEAD", "OPTIONS"}
PATIENTLY = settings(
    derandomize=True, database=None, deadline=None, phases=[Phase.generate], suppress_health_check=list(HealthCheck)
)


class World:
    """An application, what is in it, and a person of each role."""

    def __init__(self, make_jobs: Callable[..., JobTrail], folder: Path) -> None:
        plugin = Plugin("weather")
        plugin.route("/stations/{station}", role="viewer")(lambda _jobs, station: {"station": station})
        plugin.route("/reset", method="POST")(lambda _jobs: None)
        self.jobs = add_tasks(make_jobs(upload_folder=folder / "uploads", plugins=[plugin]))
        self.app = self.jobs.asgi(local=False)
        self.tokens = {role: self._token(role) for role in ROLES}
        made = list(self._jobs())
        self._schedules()
        self.known, self.named = self._known(made), self._named()
        self.rows = self.look()

    def _token(self, role: str) -> str:
        said = {"name": role, "role": role, "actor": "test"}
        store = self.jobs.store
        self.jobs.service.make_ready()
        return store.write(lambda conn: tokens.create(conn, store.dialect, store.now(), **said))[1]

    def headers(self, role: str) -> dict[str, str]:
        """What somebody of this role sends."""
        return {"Authorization": f"Bearer {self.tokens[role]}"} if role in self.tokens else OURS

    # -- what is in it ---------------------------------------------------------------------------------

    def _jobs(self) -> Iterator[str]:
        """In every state that needs no worker beside this test."""
        task = self.jobs.task_named
        yield task("add").enqueue(a=1).id
        yield task("load").using(source="weather/EWR", period="2013-02").enqueue(rows=4, bad=1).id
        yield task("load").using(source="weather/EWR", period="2013-01").enqueue(rows=2).id
        yield task("fail").enqueue(message="no price", password="s3cr3t").id
        yield task("flaky").enqueue().id
        yield task("asks").enqueue().id
        drain(self.jobs)
        yield task("add").using(delay=9000).enqueue(a=2).id
        gone = task("add").using(delay=9000).enqueue(a=3)
        gone.cancel()
        yield gone.id

    def _schedules(self) -> None:
        self.jobs.schedules.add("nightly", "add", "0 3 * * *", args={"a": 1})
        self.jobs.schedules.add("weekly", "load", "0 3 * * 1", source="weather/EWR", period="previous week")
        self.jobs.schedules.pause("weekly", reason="the provider is away")

    def _known(self, made: list[str]) -> dict[str, list[Any]]:
        """By the name under which it is asked for."""
        ann = TestClient(self.app, headers=self.headers("admin"))
        shown = ann.post("/api/bulk/preview", json={"action": "retry", "filter": "status:failed"}).json()
        coverage = ann.get("/api/units?task=load").json()
        for role in ROLES:  # that a token is used is noted once a minute
            ann.get("/api/me", headers=self.headers(role))
        return {
            "job_id": made, "job": made, "task": ["load", "add", "fail", "asks", "read"], "source": ["weather/EWR"],
            "question": [one["id"] for one in ann.get("/api/questions").json()["questions"]],
            "fingerprint": [one["fingerprint"] for one in ann.get("/api/errors").json()["kinds"]],
            "unit": [cell["unit"]["unit"] for cell in coverage["rows"][0]["cells"]],
            "upload": [ann.post("/api/files?name=a.csv", content=b"a,b\n").json()["upload"]],
            "digest": [shown["digest"]], "at": [shown["at"]], "filter": ["status:failed"], "q": ["status:failed", "task:load"],
            "first": ["2013-01", "2013"], "last": ["2013-12"], "step": ["month"], "zoom": ["month", "year"], "order": ["newest"],
            "period": ["2013-03"], "rule": ["0 3 * * *", "every 5 minutes"], "tz": ["UTC"], "queue": ["default"],
            "topic": ["events", "jobs", "job", "stats"], "token": [self.tokens["viewer"]],
        }  # fmt: skip

    @staticmethod
    def _named() -> dict[str, list[str]]:
        """What is just called its name, by what it is."""
        return {"schedules": ["nightly", "weekly"], "queues": ["default"], "tasks": ["load", "add", "asks"]}

    def make_real(self, case: Any) -> None:
        """Put what is there in the place of three in four of the values that are meant to be good."""
        kind = case.path.split("/")[2:3]
        known = {**self.known, "name": self.named.get(kind[0] if kind else "", [])}
        for location, values in (("path", case.path_parameters), ("query", case.query), ("body", case.body)):
            if not isinstance(values, dict) or _is_spoilt(case, location):
                continue
            for name in [name for name, value in values.items() if known.get(name) and isinstance(value, str)]:
                number = crc32(f"{name}={values[name]}".encode("utf-8", "replace"))
                if number % 4:
                    values[name] = known[name][number % len(known[name])]

    # -- what stands in the store ----------------------------------------------------------------------

    def look(self) -> dict[str, list[tuple[Any, ...]]]:
        """Every row of every table, but for what is noted whoever asks: the last use of a token, and logins."""
        with self.jobs.store.read() as conn:
            return {
                table.name: [
                    tuple(None if name == "used_at" else value for name, value in row._mapping.items())
                    for row in conn.execute(select(table).order_by(*table.primary_key.columns))
                    if table is not sessions and row._mapping.get("name") not in LOGINS
                ]
                for table in metadata.sorted_tables
            }

    def restore(self) -> None:
        """As it was in the beginning."""
        def write(conn: Any) -> None:
            for table in reversed(metadata.sorted_tables):
                conn.execute(delete(table))
            for table in metadata.sorted_tables:
                rows = [dict(zip(table.c.keys(), row, strict=True)) for row in self.rows[table.name]]
                if rows:
                    conn.execute(table.insert(), rows)

        if self.look() != self.rows:
            self.jobs.store.write(write)

    # -- who may do what -------------------------------------------------------------------------------

    def routes(self, method: str, url: str) -> list[Any]:
        """The routes that fit an address; the first of those that also fit the method is called."""
        scope = {"type": "http", "method": method, "path": unquote(urlsplit(url).path), "root_path": "", "headers": []}
        found = [(route, route.matches(scope)[0]) for route in self.app.router.routes]
        return [route for route, match in sorted(found, key=lambda one: -one[1].value) if match is not Match.NONE]

    def is_refused(self, role: str, method: str, url: str) -> bool:
        """Is the route that such a request reaches above this role, by its rule or by what it is?"""
        found = [route for route in self.routes(method, url) if method in (getattr(route, "methods", None) or ())]
        if not found:
            return False
        route = found[0]
        rule = rule_of(route.endpoint) or "closed"
        needed = [rule, "viewer" if route.path not in OPEN else ANYONE]
        needed += ["operator"] if method not in SAFE and route.path not in OPEN | LOOKS else []
        return _rank(role) < max(map(_rank, needed))


def _rank(role: str) -> int:
    return [NOBODY, *ROLES, "closed"].index(NOBODY if role == ANYONE else role)


def _is_spoilt(case: Any, location: str) -> bool:
    """Was this part of a request made so that it does not fit?"""
    from schemathesis.core.parameters import ParameterLocation

    return case.meta is not None and case.meta.is_negative_at(ParameterLocation(location))


class Asking:
    """All operations asked in some roles; what was found stands in ``faults``, once for each kind, operation and role."""

    def __init__(self, world: World, *roles: str) -> None:
        self.world, self.roles = world, roles
        self.faults: dict[tuple[str, str, str], str] = {}
        self.answers: dict[tuple[str, str], set[int]] = {}

    @cached_property
    def description(self) -> Any:
        """As schemathesis reads it."""
        warnings.filterwarnings("ignore", module="schemathesis")
        import schemathesis

        found = schemathesis.openapi.from_dict(self.world.app.openapi(), config=schemathesis.Config())
        found.app = self.world.app
        found.config.max_stream_events = 1  # of what does not end
        return found

    def all(self, *, covering: int, drawn: int) -> None:
        """Each operation with at most so many cases that cover its description, and so many drawn of each sort."""
        for operation in (found.ok() for found in self.description.get_all_operations()):
            cases = spread(self._covering(operation), covering)
            for role in self.roles:
                for case in cases:
                    self.ask(case, role)
                self._draw(operation, role, drawn)
                may_not = self.world.is_refused(role, operation.method.upper(), operation.path)
                if role in {NOBODY, "viewer"} or may_not:  # whatever the rule says
                    unchanged = self.world.look() == self.world.rows
                    self._note(role, operation.label, "the store has changed", unchanged)
                self.world.restore()

    def _covering(self, operation: Any) -> list[Any]:
        from schemathesis import GenerationMode
        from schemathesis.config import GenerationConfig

        modes = {"generation_modes": list(GenerationMode), "generation_config": GenerationConfig()}
        return list(self.description.iter_coverage_cases(operation, **modes))

    def _draw(self, operation: Any, role: str, number: int) -> None:
        from schemathesis import GenerationMode

        for mode in GenerationMode if number else ():
            ask = given(case=operation.as_strategy(generation_mode=mode))(lambda case: self.ask(case, role))
            try:
                settings(PATIENTLY, max_examples=number)(ask)()
            except Unsatisfiable:  # nothing can be wrong with a request that says nothing
                assert not [*operation.body, *operation.iter_parameters()], operation.label

    def in_any_order(self, role: str) -> None:
        """What covers all operations, one after the other on what those before have left."""
        cases = [case for found in self.description.get_all_operations() for case in self._covering(found.ok())]
        Random(2013).shuffle(cases)
        for place, case in enumerate(cases):
            self.ask(case, role)
            if place % 300 == 299:  # or soon nothing would be there any more
                self.world.restore()

    def ask(self, case: Any, role: str) -> None:
        """One request, and all that is to be said about its answer."""
        self.world.make_real(case)
        self.world.app.state.context.logins.attempts._failures.clear()  # it is asked with bad tokens, too
        try:
            answer = case.call(headers=dict(self.world.headers(role)))
        except Exception as error:  # the application's own: a server would say 500
            self._note(role, case.operation.label, type(error).__name__, False, f"{error!r}\n{case.as_curl_command()}")
        else:
            self._judge(case, role, answer)

    def _judge(self, case: Any, role: str, answer: Any) -> None:
        from schemathesis.core.failures import FailureGroup
        from schemathesis.specs.openapi.checks import ignored_auth

        label, headers = case.operation.label, self.world.headers(role)
        seen = self.answers.setdefault((role, label), set())
        once = [] if seen.isdisjoint({200, 201, 204}) else [ignored_auth]
        seen.add(answer.status_code)
        self._check_rule(label, role, answer)
        sent = {"headers": dict(headers), "transport_kwargs": {"headers": dict(headers)}}
        try:
            case.validate_response(answer, excluded_checks=once, **sent)
        except FailureGroup as group:
            for failure in group.exceptions:
                kind = type(failure).__name__
                told = f"{answer.status_code} {answer.text[:500]}\n{failure}\n{case.as_curl_command()}"
                self._note(role, label, kind, self._is_excused(kind, case, answer), told)

    def _check_rule(self, label: str, role: str, answer: Any) -> None:
        request = answer.request
        if self.world.is_refused(role, request.method, request.url):
            right = answer.status_code == (401 if role == NOBODY else 403)
            self._note(role, label, "not refused", right, f"{answer.status_code} {request.method} {request.url}")
        if answer.status_code >= 400 and answer.content:
            kind = answer.headers["content-type"][0]
            self._note(role, label, "no problem detail", kind == "application/problem+json", kind)

    def _is_excused(self, kind: str, case: Any, answer: Any) -> bool:
        if kind == "RejectedPositiveData":  # the words fit, and what they say does not: a filter, a period, an answer
            return answer.status_code == 413 or answer.json()["code"] != "invalid-request"
        if kind in {"AllowHeaderMismatch", "UnsupportedMethodResponse"}:  # "tasks" may be a unit, "a/pause" a schedule
            return len({route.path for route in self.world.routes(answer.request.method, answer.request.url)}) > 1
        names = [name for name, _ in parse_qsl(urlsplit(answer.request.url).query, keep_blank_values=True)]
        if kind == "AcceptedNegativeData" and len(names) != len(set(names)):  # of what is said twice the last counts
            return True
        # An empty file is one.
        return kind == "AcceptedNegativeData" and case.operation.label == "POST /api/files" and not answer.request.body

    def _note(self, role: str, label: str, kind: str, right: bool, told: str = "") -> None:
        if not right:
            self.faults.setdefault((label, role, kind), told)

    def told(self) -> str:
        """What was found, for people."""
        return "\n\n".join(f"== {label} as {role}: {kind}\n{what}" for (label, role, kind), what in sorted(self.faults.items()))


def spread(cases: Iterable[Any], most: int) -> list[Any]:
    """At most so many of them, from all over."""
    found = list(cases)
    step = max(len(found) / most, 1.0) if most else float("inf")
    return [found[int(place * step)] for place in range(len(found)) if int(place * step) < len(found)]
