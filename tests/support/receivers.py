"""What the tests of channels send to: a mail server and a web server on this machine, of the standard library."""

from __future__ import annotations

import email
import email.policy
import socketserver
import ssl
import subprocess
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import TYPE_CHECKING, Any

from services import skip_or_fail

if TYPE_CHECKING:
    from email.message import EmailMessage


class MailServer:
    """A mail server that keeps what it takes.

    ``answers`` replaces the answer to a command, such as ``{"RCPT": "550 nobody"}``; "drop" closes the connection instead.
    ``certificate`` (a file with key and certificate) offers STARTTLS.
    """

    def __init__(self, certificate: Path | None = None) -> None:
        self.messages: list[EmailMessage] = []
        self.logins: list[str] = []
        self.encrypted: list[bool] = []
        self.answers: dict[str, str] = {}
        self.certificate = certificate
        owner = self

        class Handler(socketserver.StreamRequestHandler):
            def handle(self) -> None:
                owner._serve(self)

        class Server(socketserver.ThreadingTCPServer):
            allow_reuse_address = True
            daemon_threads = True

            def handle_error(self, *_: Any) -> None:
                pass

        self._server = Server(("127.0.0.1", 0), Handler)
        self.port: int = self._server.server_address[1]
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.02,), daemon=True)
        self._thread.start()

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    def _serve(self, connection: Any) -> None:
        secure = False
        self._say(connection, "220 ready")
        while line := connection.rfile.readline():
            text = line.decode().strip()
            word = text.split(" ")[0].upper()
            if word in self.answers:
                if self.answers[word] == "drop":
                    return
                self._say(connection, self.answers[word])
            elif word == "EHLO":
                offers = ["250-me", "250-AUTH PLAIN"] + (["250-STARTTLS"] if self.certificate and not secure else [])
                self._say(connection, *offers, "250 SIZE 1000000")
            elif word == "STARTTLS":
                self._say(connection, "220 go")
                context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
                context.load_cert_chain(str(self.certificate))
                connection.connection = context.wrap_socket(connection.connection, server_side=True)
                connection.rfile, connection.wfile = connection.connection.makefile("rb"), connection.connection.makefile("wb", 0)
                secure = True
            elif word == "AUTH":
                self.logins.append(text)
                self._say(connection, "235 welcome")
            elif word == "DATA":
                self._take(connection, secure)
                if self.answers.get("TAKEN") == "drop":
                    return
            elif word == "QUIT":
                self._say(connection, "221 bye")
                return
            else:
                self._say(connection, "250 good")

    def _take(self, connection: Any, secure: bool) -> None:
        self._say(connection, "354 go on")
        lines = []
        while (line := connection.rfile.readline()) not in (b".\r\n", b""):
            lines.append(line[1:] if line.startswith(b"..") else line)
        if not line:
            return  # its sender died in the middle
        self.messages.append(email.message_from_bytes(b"".join(lines), policy=email.policy.default))
        self.encrypted.append(secure)
        if self.answers.get("TAKEN") != "drop":
            self._say(connection, self.answers.get("TAKEN", "250 taken"))

    @staticmethod
    def _say(connection: Any, *lines: str) -> None:
        connection.wfile.write("".join(f"{line}\r\n" for line in lines).encode())


class WebServer:
    """A web server that keeps what it takes; ``status`` is its answer, or what a function of the request gives."""

    def __init__(self) -> None:
        self.requests: list[tuple[str, dict[str, str], bytes]] = []
        self.status: int = 200
        self.headers: dict[str, str] = {}
        self.hangs = threading.Event()  # set: it takes a request and does not answer until it is closed
        self._closing = threading.Event()
        owner = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                length = int(self.headers.get("Content-Length") or 0)
                body = self.rfile.read(length)
                if len(body) < length:
                    return  # its sender died in the middle
                owner.requests.append((self.path, {name.lower(): value for name, value in self.headers.items()}, body))
                if owner.hangs.is_set():
                    owner._closing.wait(60)
                    return
                self.send_response(owner.status)
                for name, value in owner.headers.items():
                    self.send_header(name, value)
                if owner.status in (301, 302, 307, 308):
                    self.send_header("Location", "/elsewhere")
                self.send_header("Content-Length", "0")
                self.end_headers()

            do_GET = do_POST

            def log_message(self, *_: Any) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self.port: int = self._server.server_address[1]
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.02,), daemon=True)
        self._thread.start()

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def close(self) -> None:
        self._closing.set()
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()


def certificate(folder: Path) -> Path:
    """A file with a key and a certificate for 127.0.0.1."""
    file, key, cert = folder / "both.pem", folder / "key.pem", folder / "cert.pem"
    command = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=127.0.0.1",
               "-addext", "subjectAltName=IP:127.0.0.1", "-keyout", str(key), "-out", str(cert)]  # fmt: skip
    try:
        subprocess.run(command, check=True, capture_output=True)
    except (OSError, subprocess.CalledProcessError):
        skip_or_fail("openssl is not there to make a certificate")
    file.write_text(key.read_text() + cert.read_text())
    return file
