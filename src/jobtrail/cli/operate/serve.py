"""``jobtrail serve``: API, console and worker in one process; ``jobtrail token``: API tokens."""

from __future__ import annotations

import asyncio
import sys
from datetime import timedelta
from typing import TYPE_CHECKING, Annotated, Any

import typer

from jobtrail.cli.command import command
from jobtrail.cli.commands.submit import ActorOption, actor_or_me
from jobtrail.cli.session import Session
from jobtrail.messages import Message, tr, use_language

from . import systemd

if TYPE_CHECKING:
    from socket import socket

    from jobtrail import JobTrail
    from jobtrail.api.serving import Server
    from jobtrail.worker.worker import Worker

LoginOption = Annotated[str | None, typer.Option("--login", metavar="MODULE:FUNCTION", help="help.serve-login")]
ProxyHeaderOption = Annotated[
    str | None, typer.Option("--proxy-header", metavar="NAME", help="help.serve-proxy-header")
]
TrustedProxyOption = Annotated[
    list[str] | None, typer.Option("--trusted-proxy", metavar="ADDRESS", help="help.serve-trusted-proxy")
]
ProxyRoleOption = Annotated[
    list[str] | None,
    typer.Option("--proxy-role", metavar="NAME=ROLE", help="help.serve-proxy-role"),
]
NewTokenOption = Annotated[str | None, typer.Option("--new-token", metavar="ROLE", help="help.serve-new-token")]
PORT = 8765
HOST = "127.0.0.1"


def add_to(cli: typer.Typer) -> None:
    """Register the commands of this file."""
    command(cli, "serve", "run", "help.serve")(serve)
    command(cli, "token", "maintain", "help.token")(token)


# -- serving -------------------------------------------------------------------------------------------


def serve(
    session: Session,
    host: Annotated[str, typer.Option("--host", help="help.serve-host")] = HOST,
    port: Annotated[int, typer.Option("--port", min=0, max=65_535, help="help.free-port")] = PORT,
    worker: Annotated[bool, typer.Option("--worker/--no-worker", help="help.serve-worker")] = True,
    queues: Annotated[str, typer.Option("--queues", "-q", metavar="A,B", help="help.serve-queues")] = "default",
    concurrency: Annotated[int | None, typer.Option("--concurrency", "-c", min=1, help="help.concurrency")] = None,
    prefix: Annotated[str, typer.Option("--prefix", metavar="/PATH", help="help.serve-prefix")] = "",
    name: Annotated[list[str] | None, typer.Option("--name", metavar="HOST", help="help.serve-name")] = None,
    login: LoginOption = None,
    proxy_header: ProxyHeaderOption = None,
    trusted_proxy: TrustedProxyOption = None,
    proxy_role: ProxyRoleOption = None,
    new_token: NewTokenOption = None,
) -> int:
    """Serve console and API, and run jobs. SIGTERM or Ctrl-C lets running jobs end; a second one hands them back at once."""
    from jobtrail.api.serving import is_loopback, listen
    from jobtrail.cli.commands.submit import _pair

    from .worker import _log_to_terminal

    jobs = session.open(tasks=worker, creates=True)
    jobs.make_ready()
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
    )
    _log_to_terminal()
    listening = listen(host, port)
    text = _new_token(jobs, new_token) if new_token else None
    _tell(session, host, listening.getsockname()[1], prefix, text)
    return _run(session, jobs, app, listening, _worker_of(jobs, queues, concurrency) if worker else None)


def _function(named: str) -> Any:
    """Return the function that ``module:function`` names.

    Raises:
        UsageError: if there is none.
    """
    from jobtrail.cli.session import _module
    from jobtrail.errors import UsageError

    module, _, name = named.partition(":")
    found = getattr(_module(module), name, None) if module and name else None
    if not callable(found):
        raise UsageError(Message("cli.not-a-function", named=named))
    return found


def _worker_of(jobs: JobTrail, queues: str, concurrency: int | None) -> Worker:
    from jobtrail.worker.session import own_process

    from .worker import _queues

    named = _queues(queues, concurrency)
    jobs.metrics()
    own_process()
    found: Worker = jobs.worker(queues=named, beat="child", leaves_process=True, slots=concurrency)
    return found


def _run(session: Session, jobs: JobTrail, app: Any, listening: socket, worker: Worker | None) -> int:
    from .worker import _leave

    with asyncio.Runner() as runner:
        code = runner.run(_serve(session, app, listening, worker))
        session.hint((tr("cli.stopped"), "dim"))
        if worker is not None and worker.bodies_live():
            jobs.close()
            _leave(code)
    return code


async def _serve(session: Session, app: Any, listening: socket, worker: Worker | None) -> int:
    """Serve until a signal; the pages are served until the last job has ended."""
    from jobtrail.api.serving import server_for

    from .worker import _signals, _Stop

    start = asyncio.get_running_loop().create_task
    server = server_for(app)
    telling = start(_tell_systemd(server))
    if worker is None:
        with use_language("en"), _signals(server.stop):
            await server.serve(sockets=[listening])
        telling.cancel()
        return 0
    stop = _Stop(session, worker)
    with use_language("en"), _signals(stop.ask):  # a worker stores and logs in English
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

    if all(one.revoked_at is not None or one.bound_to is not None for one in jobs.queries.tokens().tokens):
        raise UsageError(Message("cli.nobody-could-log-in", host=host))


def _tell(session: Session, host: str, port: int, prefix: str, text: str | None) -> None:
    shown = f"[{host}]" if ":" in host else host
    address = f"http://{shown}:{port}{prefix}/"
    if session.as_json:
        session.json({"address": address, "token": text})
        sys.stdout.flush()
        return
    session.say((f"{tr('cli.served-at')} ", "dim"), (address, "bold"))
    if text is not None:
        session.say((f"{tr('cli.token-shown-once')}: ", "dim"), (text, "bold"))


def _new_token(jobs: JobTrail, role: str) -> str:
    return str(_create(jobs, f"serve-{role}", role, actor_or_me(None), None)["token"])


# -- tokens --------------------------------------------------------------------------------------------


def token(
    session: Session,
    what: Annotated[str, typer.Argument(metavar="WHAT", help="help.token-what")] = "list",
    named: Annotated[str | None, typer.Argument(metavar="NAME", help="help.token-which")] = None,
    role: Annotated[str | None, typer.Option("--role", help="help.token-role")] = None,
    name: Annotated[str | None, typer.Option("--name", help="help.token-name")] = None,
    days: Annotated[float | None, typer.Option("--days", help="help.token-days")] = None,
    bound_to: Annotated[str | None, typer.Option("--bound-to", metavar="KIND:NAME", help="help.token-bound")] = None,
    actor: ActorOption = None,
) -> int:
    """Create, list and revoke API tokens."""
    from jobtrail.errors import UsageError

    jobs = session.open(creates=what == "create")
    jobs.service.make_ready()
    who = actor_or_me(actor)
    if what == "list":
        return _list(session, jobs)
    if what == "create":
        return _tell_created(session, _create(jobs, name or named, role, who, days, bound_to))
    if what == "revoke":
        return _revoke(session, jobs, named or name, who)
    raise UsageError(Message("cli.token-unknown-action", action=what))


def _create(
    jobs: JobTrail, name: str | None, role: str | None, actor: str, days: float | None, bound_to: str | None = None
) -> dict[str, Any]:
    from jobtrail.errors import UsageError
    from jobtrail.job.task import name_option
    from jobtrail.store import tokens

    if name is None or role not in {"viewer", "operator", "admin"}:
        raise UsageError(Message("cli.token-needs-name-and-role"))
    if days is not None and not 0 < days <= 36_500:
        raise UsageError(Message("cli.token-days", most=36_500, days=days))
    name_option(Message("cli.token-name"), name)
    now = jobs.store.now()
    expires = None if days is None else now + timedelta(days=days)
    values: dict[str, Any] = {
        "name": name, "role": role, "actor": actor, "expires_at": expires, "bound_to": bound_to
    }  # fmt: skip
    if bound_to is not None:
        tokens.check_binding(bound_to)
    made, text = jobs.store.write(lambda conn: tokens.create(conn, jobs.store.dialect, now, **values))
    told = {} if bound_to is None else {"bound_to": bound_to}
    return {"id": made.id, "name": name, "role": role, "token": text, "expires_at": expires, **told}


def _tell_created(session: Session, made: dict[str, Any]) -> int:
    if session.as_json:
        session.json(made)
    else:
        session.hint((tr("cli.token-created", name=made["name"], role=made["role"]), "dim"))
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
        session.say((tr("cli.no-tokens"), "dim"))
        return 0
    now = found.now
    table = plain_table("name", "role", "created", "by", "last_used", "good_until", "id")
    for one in found.tokens:
        role = one.role if one.bound_to is None else tr("cli.token-bound", role=one.role, bound_to=one.bound_to)
        until = tr("cli.revoked") if one.revoked_at else moment(one.expires_at, now)
        cells = (role, moment(one.created_at, now), one.actor or "", moment(one.used_at, now), until, one.id)
        table.add_row(Text(clean(one.name), "bold"), *(Text(clean(cell)) for cell in cells))
    table.show(session.console)
    return 0


def _revoke(session: Session, jobs: JobTrail, name: str | None, actor: str) -> int:
    from jobtrail.errors import NotFound, UsageError
    from jobtrail.store import tokens

    if name is None:
        raise UsageError(Message("cli.token-which"))
    now = jobs.store.now()
    number = jobs.store.write(lambda conn: tokens.revoke(conn, jobs.store.dialect, name, now, actor=actor))
    if not number:
        raise NotFound(Message("cli.no-token", name=name))
    if session.as_json:
        session.json({"revoked": number})
    else:
        session.say(tr("cli.tokens-revoked", count=number))
    return 0
