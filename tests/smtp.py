"""A mail server on this machine, which speaks enough SMTP for `smtplib` and can be told to misbehave."""

import socketserver
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from email import message_from_bytes, policy
from email.message import EmailMessage


@dataclass
class Postbox:
    """What the server took, and what it does next.

    refuse : answer to RCPT, instead of taking it
    hang_up_after : a command after which the connection is closed without an answer
    """

    port: int = 0
    taken: list[EmailMessage] = field(default_factory=list)
    sessions: int = 0
    refuse: str = ""
    hang_up_after: str = ""

    @property
    def texts(self) -> list[str]:
        """Return the mails' texts."""
        return [mail.get_content() for mail in self.taken]


class _Session(socketserver.StreamRequestHandler):
    def handle(self) -> None:
        box: Postbox = self.server.box  # type: ignore[attr-defined]
        box.sessions += 1
        self._say("220 ready")
        while line := self.rfile.readline():
            command = line.decode().strip().upper()
            if command.startswith("QUIT"):
                self._say("221 bye")
                return
            if command == "DATA":
                self._say("354 go on")
                body = b""
                while (row := self.rfile.readline()) != b".\r\n":
                    body += row
                box.taken.append(message_from_bytes(body, policy=policy.default))  # type: ignore[arg-type]
            if box.hang_up_after and command.startswith(box.hang_up_after):
                return
            self._say(box.refuse if box.refuse and command.startswith("RCPT") else "250 ok")

    def _say(self, line: str) -> None:
        self.wfile.write(f"{line}\r\n".encode())


@contextmanager
def mail_server(port: int = 0) -> Iterator[Postbox]:
    """Run a mail server on a free port."""
    box = Postbox()
    with socketserver.ThreadingTCPServer(("127.0.0.1", port), _Session) as server:
        server.daemon_threads = True
        server.box = box  # type: ignore[attr-defined]
        box.port = server.server_address[1]
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
        thread.start()
        try:
            yield box
        finally:
            server.shutdown()
            thread.join()
