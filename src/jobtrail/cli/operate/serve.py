"""``jobtrail serve``: API, console and worker in one process; ``jobtrail token``: who may use it from elsewhere."""

from __future__ import annotations

import asyncio
import os
import sys
from datetime import timedelta
from typing import TYPE_CHECKING, Annotated, Any

import typer

from jobtrail.cli.command import KEEPING, WORKING, command
from jobtrail.cli.commands.submit import ActorOption, actor_or_me
from jobtrail.cli.session import Session

from . import systemd

if TYPE_CHECKING:
    from socket import socket

    from jobtrail import JobTrail
    from jobtrail.api.serving import Server
    from jobtrail.worker.worker import Worker

LoginOption = Annotated[
    str | None, typer.Option("--login", metavar="MODULE:FUNCTION", help="Says who a request is from: a Person, or None.")
]
ProxyHeaderOption = Annotated[
    str | None, typer.Option("--proxy-header", metavar="NAME", help="The header in which a trusted proxy names the user.")
]
TrustedProxyOption = Annotated[
    list[str] | None, typer.Option("--trusted-proxy", metavar="ADDRESS", help="From where that header is believed.")
]
ProxyRoleOption = Annotated[
    list[str] | None,
    typer.Option("--proxy-role", metavar="NAME=ROLE", help="What a user may do; '*=viewer' for all others."),
]
NewTokenOption = Annotated[
    str | None, typer.Option("--new-token", metavar="ROLE", help="Make a token first: viewer, operator or admin.")
]
PORT = 8765
HOST = "127.0.0.1"


def add_to(cli: typer.Typer) -> None:
    """Register the commands of this file."""
    command(cli, "serve", WORKING)(serve)
    command(cli, "token", KEEPING)(token)


# -- serving -------------------------------------------------------------------------------------------


def serve(
    session: Session,
    host: Annotated[str, typer.Option("--host", help="The address to listen on.")] = HOST,
    port: Annotated[int, typer.Option("--port", min=0, max=65_535, help="0 takes a free one.")] = PORT,
    worker: Annotated[bool, typer.Option("--worker/--no-worker", help="Execute jobs, too.")] = True,
    queues: Annotated[str, typer.Option("--queues", "-q", metavar="A,B", help="As for 'jobtrail worker'.")] = "default",
    concurrency: Annotated[
        int | None, typer.Option("--concurrency", "-c", min=1, help="Jobs at once (else the setting slots).")
    ] = None,
    prefix: Annotated[str, typer.Option("--prefix", metavar="/PATH", help="The path below which a proxy serves this.")] = "",
    name: Annotated[
        list[str] | None, typer.Option("--name", metavar="HOST", help="A name of this server that requests may use.")
    ] = None,
    login: LoginOption = None,
    proxy_header: ProxyHeaderOption = None,
    trusted_proxy: TrustedProxyOption = None,
    proxy_role: ProxyRoleOption = None,
    new_token: NewTokenOption = None,
) -> int:
    """Serve console and API, and execute jobs. SIGTERM or Ctrl-C drains, a second one hands back at once."""
    from jobtrail.api.serving import is_loopback, listen
    from jobtrail.cli.commands.submit import _pair

    from .worker import _log_to_terminal

    jobs = session.open(tasks=worker, creates=True)
    jobs.service.make_ready()
    near, known = is_loopback(host), login is not None or proxy_header is not None
    if not near and not known and not new_token:
        _refuse_without_login(jobs, host)
    app = jobs.asgi(
        login=_function(login) if login else None,
        proxy_header=proxy_header,
        trusted_proxies=trusted_proxy or (),
        proxy_roles=dict(_pair(one, "--proxy-role") for one in proxy_role or ()),
        local=near and not known,
        allowed_hosts=name or (),
        prefix=prefix,
        secret=os.environ.get("JOBTRAIL_SECRET", ""),
    )
    _log_to_terminal()
    listening = listen(host, port)
    text = _new_token(jobs, new_token) if new_token else None
    _tell(session, host, listening.getsockname()[1], prefix, text)
    return _run(session, jobs, app, listening, _worker_of(jobs, queues, concurrency) if worker else None)


def _function(named: str) -> Any:
    """What ``module:function`` names.

    Raises: UsageError.
    """
    from jobtrail.cli.session import _module
    from jobtrail.errors import UsageError

    module, _, name = named.partition(":")
    found = getattr(_module(module), name, None) if module and name else None
    if not callable(found):
        message = f"--login wants module:function, as in myproject.people:who; '{named}' is none"
        raise UsageError(message)
    return found


def _worker_of(jobs: JobTrail, queues: str, concurrency: int | None) -> Worker:
    from jobtrail.worker.session import speed_up_switches

    from .worker import _queues

    named = _queues(queues, concurrency)
    jobs.metrics()
    speed_up_switches()
    found: Worker = jobs.worker(queues=named, beat="child", leaves_process=True, slots=concurrency)
    return found


def _run(session: Session, jobs: JobTrail, app: Any, listening: socket, worker: Worker | None) -> int:
    from .worker import _leave

    with asyncio.Runner() as runner:
        code = runner.run(_serve(session, app, listening, worker))
        session.hint(("stopped", "dim"))
        if worker is not None and worker.bodies_live():
            jobs.close()
            _leave(code)
    return code


async def _serve(session: Session, app: Any, listening: socket, worker: Worker | None) -> int:
    """Serve until somebody says stop; the pages are there until the last job has drained."""
    from jobtrail.api.serving import server_for

    from .worker import _signals, _Stop

    start = asyncio.get_running_loop().create_task
    server = server_for(app)
    telling = start(_tell_systemd(server))
    if worker is None:
        with _signals(server.stop):
            await server.serve(sockets=[listening])
        telling.cancel()
        return 0
    stop = _Stop(session, worker)
    with _signals(stop.ask):
        serving, working = start(server.serve(sockets=[listening])), start(worker.run())
        await asyncio.wait({serving, working}, return_when=asyncio.FIRST_COMPLETED)
        worker.stop()
        await working
        server.stop()
        await serving
        telling.cancel()
        if stop.leaving is not None:
            await stop.leaving
    return 0


async def _tell_systemd(server: Server) -> None:
    await server.ready.wait()
    systemd.tell("READY=1")
    await systemd.keep_watchdog_quiet()


def _refuse_without_login(jobs: JobTrail, host: str) -> None:
    from jobtrail.errors import UsageError

    if all(one.revoked_at is not None for one in jobs.queries.tokens().tokens):
        message = (
            f"{host} can be reached from other machines, and nobody could log in: make a token first "
            "(jobtrail token create --role operator --name ann, or serve --new-token admin), or serve on 127.0.0.1"
        )
        raise UsageError(message)


def _tell(session: Session, host: str, port: int, prefix: str, text: str | None) -> None:
    shown = f"[{host}]" if ":" in host else host
    address = f"http://{shown}:{port}{prefix}/"
    if session.as_json:
        session.json({"address": address, "token": text})
        sys.stdout.flush()
        return
    session.say(("jobtrail is at ", "dim"), (address, "bold"))
    if text is not None:
        session.say(("token (it is shown this once): ", "dim"), (text, "bold"))


def _new_token(jobs: JobTrail, role: str) -> str:
    return str(_create(jobs, f"serve-{role}", role, actor_or_me(None), None)["token"])


# -- tokens --------------------------------------------------------------------------------------------


def token(
    session: Session,
    what: Annotated[str, typer.Argument(metavar="WHAT", help="create, list or revoke.")] = "list",
    named: Annotated[str | None, typer.Argument(metavar="NAME", help="For revoke: a name or an id.")] = None,
    role: Annotated[str | None, typer.Option("--role", help="For create: viewer, operator or admin.")] = None,
    name: Annotated[str | None, typer.Option("--name", help="For create: whose it is.")] = None,
    days: Annotated[float | None, typer.Option("--days", help="For create: how long it is good.")] = None,
    actor: ActorOption = None,
) -> int:
    """API tokens: create one (it is shown once), list them, revoke them."""
    from jobtrail.errors import UsageError

    jobs = session.open(creates=what == "create")
    jobs.service.make_ready()
    who = actor_or_me(actor)
    if what == "list":
        return _list(session, jobs)
    if what == "create":
        return _tell_created(session, _create(jobs, name or named, role, who, days))
    if what == "revoke":
        return _revoke(session, jobs, named or name, who)
    message = f"'jobtrail token' can create, list and revoke; it cannot '{what}'"
    raise UsageError(message)


def _create(jobs: JobTrail, name: str | None, role: str | None, actor: str, days: float | None) -> dict[str, Any]:
    from jobtrail.errors import UsageError
    from jobtrail.job.task import name_option
    from jobtrail.store import tokens

    if name is None or role not in {"viewer", "operator", "admin"}:
        message = "a token needs a name and a role (viewer, operator or admin): --name ann --role operator"
        raise UsageError(message)
    if days is not None and not 0 < days <= 36_500:
        message = f"--days must be a number above 0 and at most 36,500; it is {days:g}"
        raise UsageError(message)
    name_option("the name of a token", name)
    now = jobs.store.now()
    expires = None if days is None else now + timedelta(days=days)
    said: dict[str, Any] = {"name": name, "role": role, "actor": actor, "expires_at": expires}
    made, text = jobs.store.write(lambda conn: tokens.create(conn, jobs.store.dialect, now, **said))
    return {"id": made.id, "name": name, "role": role, "token": text, "expires_at": expires}


def _tell_created(session: Session, made: dict[str, Any]) -> int:
    if session.as_json:
        session.json(made)
    else:
        session.hint((f"token of {made['name']}, {made['role']}; it is shown this once and kept as a digest only", "dim"))
        session.say(made["token"])
    return 0


def _list(session: Session, jobs: JobTrail) -> int:
    from rich.text import Text

    from jobtrail.cli.rendering.tables import plain_table
    from jobtrail.cli.rendering.text import clean, moment

    found = jobs.queries.tokens()
    if session.as_json:
        session.json(found)
        return 0
    if not found.tokens:
        session.say(("there are no tokens: jobtrail token create --role operator --name ann", "dim"))
        return 0
    now = found.now
    table = plain_table("name", "role", "created", "by", "last used", "good until", "id")
    for one in found.tokens:
        until = "revoked" if one.revoked_at else moment(one.expires_at, now)
        cells = (one.role, moment(one.created_at, now), one.actor or "", moment(one.used_at, now), until, one.id)
        table.add_row(Text(clean(one.name), "bold"), *(Text(clean(cell)) for cell in cells))
    table.show(session.console)
    return 0


def _revoke(session: Session, jobs: JobTrail, name: str | None, actor: str) -> int:
    from jobtrail.errors import NotFound, UsageError
    from jobtrail.store import tokens

    if name is None:
        message = "say which token: jobtrail token revoke NAME (or its id)"
        raise UsageError(message)
    now = jobs.store.now()
    number = jobs.store.write(lambda conn: tokens.revoke(conn, jobs.store.dialect, name, now, actor=actor))
    if not number:
        message = f"no token that is good is called '{name}'"
        raise NotFound(message)
    if session.as_json:
        session.json({"revoked": number})
    else:
        session.say(f"{number} revoked" if number > 1 else "revoked")
    return 0
