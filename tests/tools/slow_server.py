"""Gunicorn's configuration for the tests of slow connections: our worker in one process, with an application of its own."""

from collections.abc import Callable, Iterable
from typing import Any

from config.serving.whole_requests import WholeRequests

wsgi_app = "tests.tools.slow_server"
worker_class = "tests.tools.slow_server.Hasty"
workers, threads = 1, 4
control_socket_disable = True


class Hasty(WholeRequests):
    """The worker with shorter limits."""

    whole_within = 0.5


def application(environ: dict[str, Any], start_response: Callable[..., Any]) -> Iterable[bytes]:
    """Answer with the length of the body."""
    body = environ["wsgi.input"].read()
    start_response("200 OK", [("Content-Type", "text/plain"), ("Content-Length", "7")])
    return [b"%07d" % len(body)]
