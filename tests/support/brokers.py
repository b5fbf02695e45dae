"""Redis and RabbitMQ for the tests: the ones that are named, those of this machine, or private ones; each test has a namespace."""

from __future__ import annotations

import base64
import contextlib
import os
import shutil
import signal
import subprocess
import tempfile
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import quote, urlsplit
from uuid import uuid4

import pytest
from services import START_SECONDS, Unavailable, free_port, skip_or_fail

REDIS_ENVIRONMENT = "JOBTRAIL_TEST_REDIS"
REDIS_LOCAL = "redis://127.0.0.1:6379"
AMQP_ENVIRONMENT = "JOBTRAIL_TEST_AMQP"
AMQP_LOCAL = "amqp://guest:guest@127.0.0.1:5672"
FIRST_DATABASE, DATABASES = 5, 10
TAKEN = "jobtrail-test-taken"
RABBIT_PROGRAMS = Path("/usr/lib/rabbitmq/bin")


# -- Redis -------------------------------------------------------------------------------------------


@contextlib.contextmanager
def redis_server() -> Iterator[str]:
    """The address of a Redis server without a database number; what was started is stopped.

    Raises: Unavailable.
    """
    named = os.environ.get(REDIS_ENVIRONMENT)
    if named:
        if not answers_redis(named):
            message = f"{REDIS_ENVIRONMENT} names a server that cannot be used: {named}"
            raise Unavailable(message)
        yield _base(named)
    elif answers_redis(REDIS_LOCAL):
        yield REDIS_LOCAL
    else:
        with start_redis() as own:
            yield own.address


def answers_redis(address: str) -> bool:
    """Whether a Redis server answers there."""
    try:
        import redis
    except ImportError:
        return False
    try:
        with redis.Redis.from_url(address, socket_connect_timeout=2, socket_timeout=2) as client:
            return bool(client.ping())
    except (redis.RedisError, ValueError):
        return False


@contextlib.contextmanager
def redis_database(server: str) -> Iterator[str]:
    """The address of an empty database of a Redis server, taken until the end.

    Raises: Unavailable where all are taken.
    """
    import redis

    base = _base(server)
    for number in range(FIRST_DATABASE, FIRST_DATABASE + DATABASES):
        client = redis.Redis.from_url(f"{base}/{number}", socket_connect_timeout=2)
        if client.set(TAKEN, os.getpid(), nx=True, ex=600):
            break
        client.close()
    else:
        message = f"all {DATABASES} databases of {base} are taken by other tests"
        raise Unavailable(message)
    try:
        yield f"{base}/{number}"
    finally:
        with contextlib.suppress(redis.RedisError):
            client.flushdb()
        client.close()


@dataclass
class RedisServer:
    """A private Redis on a free port of the loopback; a test may stop, empty and restart it."""

    folder: Path
    port: int
    keeps: bool = False
    process: subprocess.Popen[bytes] | None = None

    @property
    def address(self) -> str:
        """Where it listens, without a database number."""
        return f"redis://127.0.0.1:{self.port}"

    def start(self) -> None:
        """Start and wait until it answers."""
        kept = ["--appendonly", "yes", "--appendfsync", "always"] if self.keeps else ["--appendonly", "no"]
        command = ["redis-server", "--port", str(self.port), "--bind", "127.0.0.1", "--save", "", "--dir", str(self.folder)]
        self.process = subprocess.Popen(_mortal([*command, *kept]), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        _wait(self.process, lambda: answers_redis(self.address), "a private Redis did not start")

    def stop(self, how: signal.Signals = signal.SIGTERM) -> None:
        """End it; its clients lose their connections. Messages stay only if it ``keeps`` them."""
        _end(self.process, how)

    def restart(self, how: signal.Signals = signal.SIGTERM) -> None:
        """Stop and start again, on the same port."""
        self.stop(how)
        self.start()

    def flush(self) -> None:
        """Lose everything, as an eviction or an operator does."""
        import redis

        with redis.Redis.from_url(self.address) as client:
            client.flushall()


@contextlib.contextmanager
def start_redis(*, keeps: bool = False) -> Iterator[RedisServer]:
    """A private Redis for one test; stopped and removed at the end.

    Raises: Unavailable where redis-server is not installed.
    """
    if shutil.which("redis-server") is None:
        message = f"no Redis: set {REDIS_ENVIRONMENT}, or install redis-server; what needs it was left out"
        raise Unavailable(message)
    with tempfile.TemporaryDirectory(prefix="jobtrail-redis-", ignore_cleanup_errors=True) as folder:
        one = RedisServer(Path(folder), free_port(), keeps)
        try:
            one.start()
            yield one
        finally:
            one.stop()


# -- RabbitMQ ----------------------------------------------------------------------------------------


@contextlib.contextmanager
def amqp_server() -> Iterator[str]:
    """The address of a RabbitMQ server without a vhost; what was started is stopped.

    Raises: Unavailable.
    """
    named = os.environ.get(AMQP_ENVIRONMENT)
    if named:
        if not answers_amqp(named):
            message = f"{AMQP_ENVIRONMENT} names a server that cannot be used: {named}"
            raise Unavailable(message)
        yield _base(named)
    elif answers_amqp(AMQP_LOCAL):
        yield AMQP_LOCAL
    else:
        with start_rabbitmq() as own:
            yield own.address


def answers_amqp(address: str, vhost: str = "/") -> bool:
    """Whether a RabbitMQ server lets us in there."""
    try:
        import amqp
    except ImportError:
        return False
    parts = urlsplit(address)
    try:
        with amqp.Connection(
            host=f"{parts.hostname}:{parts.port or 5672}", userid=parts.username or "guest",
            password=parts.password or "guest", virtual_host=vhost, connect_timeout=2, read_timeout=5,
        ):  # fmt: skip
            return True
    except (OSError, amqp.AMQPError):
        return False


@contextlib.contextmanager
def amqp_vhost(server: str) -> Iterator[str]:
    """The address of an empty vhost of a RabbitMQ server; removed at the end with all its queues.

    Raises: Unavailable where no vhost can be made.
    """
    name = f"jobtrail_test_{int(time.time())}_{uuid4().hex[:10]}"
    _make_vhost(server, name)
    try:
        yield f"{_base(server)}/{name}"
    finally:
        _remove_vhost(server, name)


def drop_amqp_connections(server: str, vhost: str) -> None:
    """Let the server close all connections of a vhost, as a restart or an operator does."""
    _rabbitmqctl(server, "close_all_connections", "--vhost", vhost.rpartition("/")[2], "a test drops connections")


def _make_vhost(server: str, name: str) -> None:
    user = urlsplit(server).username or "guest"
    try:
        _rabbitmqctl(server, "add_vhost", name)
        _rabbitmqctl(server, "set_permissions", "-p", name, user, ".*", ".*", ".*")
        if answers_amqp(server, name):
            return
        _rabbitmqctl(server, "delete_vhost", name)  # the program speaks to another server than the one that is named
    except (OSError, subprocess.SubprocessError):
        pass
    try:
        _manage(server, "PUT", f"vhosts/{name}")
        _manage(server, "PUT", f"permissions/{name}/{quote(user)}", b'{"configure":".*","write":".*","read":".*"}')
    except OSError as error:
        message = f"no vhost of {_base(server)} can be made: neither rabbitmqctl nor the management API on port 15672 works"
        raise Unavailable(message) from error


def _remove_vhost(server: str, name: str) -> None:
    with contextlib.suppress(OSError, subprocess.SubprocessError):
        _rabbitmqctl(server, "delete_vhost", name)
        return
    with contextlib.suppress(OSError):
        _manage(server, "DELETE", f"vhosts/{name}")


def _rabbitmqctl(server: str, *words: str) -> None:
    own = _own.get(urlsplit(server).port or 0)
    program = str(RABBIT_PROGRAMS / "rabbitmqctl") if own else shutil.which("rabbitmqctl")
    if program is None:
        raise FileNotFoundError("rabbitmqctl")
    command = [program, "-q", *(["-n", own.node] if own else []), *words]
    environment = own.environment if own else dict(os.environ)
    subprocess.run(command, env=environment, check=True, timeout=60, capture_output=True, cwd="/")


def _manage(server: str, method: str, path: str, body: bytes = b"") -> None:
    parts = urlsplit(server)
    login = base64.b64encode(f"{parts.username or 'guest'}:{parts.password or 'guest'}".encode()).decode()
    request = urllib.request.Request(f"http://{parts.hostname}:15672/api/{path}", data=body or None, method=method)
    request.add_header("Authorization", f"Basic {login}")
    request.add_header("Content-Type", "application/json")
    with urllib.request.urlopen(request, timeout=10):
        pass


@dataclass
class RabbitServer:
    """A private RabbitMQ on a free port of the loopback, with its own name server; a test may stop and restart it."""

    folder: Path
    port: int = field(default_factory=free_port)
    processes: list[subprocess.Popen[bytes]] = field(default_factory=list)

    def __post_init__(self) -> None:
        """Choose ports and names that nobody else has."""
        self.node = f"jobtrail_test_{self.port}@localhost"
        self.environment = {
            **os.environ, "HOME": str(self.folder), "ERL_EPMD_PORT": str(free_port()), "RABBITMQ_NODENAME": self.node,
            "RABBITMQ_NODE_IP_ADDRESS": "127.0.0.1", "RABBITMQ_NODE_PORT": str(self.port), "RABBITMQ_DIST_PORT": str(free_port()),
            "RABBITMQ_MNESIA_BASE": str(self.folder / "data"), "RABBITMQ_LOG_BASE": str(self.folder / "log"), "RABBITMQ_LOGS": "-",
            "RABBITMQ_PID_FILE": str(self.folder / "pid"), "RABBITMQ_ENABLED_PLUGINS_FILE": str(self.folder / "plugins"),
            "RABBITMQ_CONF_ENV_FILE": str(self.folder / "environment"), "RABBITMQ_CONFIG_FILE": str(self.folder / "rabbitmq"),
        }  # fmt: skip

    @property
    def address(self) -> str:
        """Where it listens, without a vhost."""
        return f"amqp://guest:guest@127.0.0.1:{self.port}"

    def start(self) -> None:
        """Start and wait until it lets us in."""
        self.processes = [self._run("epmd"), self._run(str(RABBIT_PROGRAMS / "rabbitmq-server"))]
        _wait(self.processes[1], lambda: answers_amqp(self.address), "a private RabbitMQ did not start", 2 * START_SECONDS)

    def _run(self, program: str) -> subprocess.Popen[bytes]:
        with (self.folder / "output").open("ab") as output:
            return subprocess.Popen(
                _mortal([program]), env=self.environment, cwd=self.folder, stdout=output, stderr=output, start_new_session=True
            )

    def stop(self, how: signal.Signals = signal.SIGTERM) -> None:
        """End it; its clients lose their connections. Messages stay if queue and message are durable."""
        for process in reversed(self.processes):
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, how)
            _end(process, how)
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)

    def restart(self, how: signal.Signals = signal.SIGTERM) -> None:
        """Stop and start again, on the same port."""
        self.stop(how)
        self.start()


_own: dict[int, RabbitServer] = {}  # private servers by port, for rabbitmqctl


@contextlib.contextmanager
def start_rabbitmq() -> Iterator[RabbitServer]:
    """A private RabbitMQ; stopped and removed at the end. Its start takes about five seconds.

    Raises: Unavailable where rabbitmq-server is not installed.
    """
    if not (RABBIT_PROGRAMS / "rabbitmq-server").exists() or shutil.which("epmd") is None:
        message = f"no RabbitMQ: set {AMQP_ENVIRONMENT}, or install rabbitmq-server; what needs it was left out"
        raise Unavailable(message)
    with tempfile.TemporaryDirectory(prefix="jobtrail-rabbitmq-", ignore_cleanup_errors=True) as folder:
        one = RabbitServer(Path(folder))
        _own[one.port] = one
        try:
            one.start()
            yield one
        finally:
            one.stop()
            del _own[one.port]


# -- fixtures ----------------------------------------------------------------------------------------


@pytest.fixture(scope="session")
def redis_base() -> Iterator[str]:
    """The address of a Redis server; without one the test is skipped, in CI it fails."""
    try:
        with redis_server() as address:
            yield address
    except Unavailable as error:
        skip_or_fail(str(error))


@pytest.fixture(scope="session")
def amqp_base() -> Iterator[str]:
    """The address of a RabbitMQ server; without one the test is skipped, in CI it fails."""
    try:
        with amqp_server() as address:
            yield address
    except Unavailable as error:
        skip_or_fail(str(error))


@pytest.fixture
def redis_url(redis_base: str) -> Iterator[str]:
    """The address of an empty Redis database for one test."""
    try:
        with redis_database(redis_base) as address:
            yield address
    except Unavailable as error:
        skip_or_fail(str(error))


@pytest.fixture
def amqp_url(amqp_base: str) -> Iterator[str]:
    """The address of an empty vhost of RabbitMQ for one test."""
    try:
        with amqp_vhost(amqp_base) as address:
            yield address
    except Unavailable as error:
        skip_or_fail(str(error))


@pytest.fixture(params=["redis", "amqp"])
def broker(request: pytest.FixtureRequest) -> str:
    """The address of an empty broker, once of each kind."""
    found: str = request.getfixturevalue(f"{request.param}_url")
    return found


# -- parts -------------------------------------------------------------------------------------------


def _base(address: str) -> str:
    """An address without its path: no database, no vhost."""
    parts = urlsplit(address)
    return f"{parts.scheme}://{parts.netloc}"


def _mortal(command: list[str]) -> list[str]:
    """A command that ends with the test run, even if that is killed."""
    main = threading.current_thread() is threading.main_thread()  # the signal comes when the thread ends that started it
    return ["setpriv", "--pdeathsig", "KILL", *command] if main and shutil.which("setpriv") else command


def _wait(process: subprocess.Popen[bytes], answers: Callable[[], bool], failed: str, seconds: float = START_SECONDS) -> None:
    end = time.monotonic() + seconds
    while not answers():
        if time.monotonic() > end or process.poll() is not None:
            raise Unavailable(failed)
        time.sleep(0.05)


def _end(process: subprocess.Popen[bytes] | None, how: signal.Signals) -> None:
    if process is None or process.poll() is not None:
        return
    process.send_signal(how)
    try:
        process.wait(15)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait(5)
