"""A program: requests to the application on a PostgreSQL whose every connection is ended; prints what they got as JSON.

It runs by itself, since the handler that checks connections at the start of each request is a server's own, which tests
do without.
"""

import io
import json
import os
import sys
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier
from typing import Any
from urllib.parse import urlencode

import django
import psycopg

os.environ["DJANGO_SETTINGS_MODULE"] = "config.settings"
django.setup()

from django.apps import apps  # noqa: E402  # Django has to be set up first
from django.conf import settings  # noqa: E402
from django.core.management import call_command  # noqa: E402
from django.db import connection  # noqa: E402

from annotation.models import Assignment, Rating, VoteChange  # noqa: E402
from config.wsgi import application  # noqa: E402
from tests.factories import claim, make_annotator, make_batch, make_study, signed_in  # noqa: E402

THREADS = 4


def end_connections() -> int:
    """End every connection to the database except this one, as a restart does; return how many there were."""
    with psycopg.connect(os.environ["DATABASE_URL"], autocommit=True) as server:
        others = "FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()"
        return len(server.execute(f"SELECT pg_terminate_backend(pid, 10000) {others}").fetchall())


def request(method: str, path: str, cookie: str, form: dict[str, str] | None = None) -> dict[str, Any]:
    """Send a request as a web server does."""
    body = urlencode(form or {}).encode()
    environ = {
        "REQUEST_METHOD": method,
        "PATH_INFO": path,
        "SERVER_NAME": "localhost",
        "SERVER_PORT": "80",
        "HTTP_COOKIE": f"{cookie}; csrftoken={'a' * 32}",
        "CONTENT_TYPE": "application/x-www-form-urlencoded",
        "CONTENT_LENGTH": str(len(body)),
        "wsgi.url_scheme": "http",
        "wsgi.input": io.BytesIO(body),
        "wsgi.errors": io.StringIO(),
    }
    told: dict[str, Any] = {}

    def start(status: str, headers: list[tuple[str, str]], *_error: Any) -> None:
        told.update(status=int(status.split(maxsplit=1)[0]), retry_after=dict(headers).get("Retry-After"))

    response = application(environ, start)
    told["not_saved"] = b"Not saved yet" in b"".join(response)
    response.close()
    return told


def together(threads: ThreadPoolExecutor, path: str, cookie: str) -> list[int]:
    """Ask for a page in every thread at once: each has a connection of its own."""
    barrier = Barrier(THREADS)

    def ask(_number: int) -> int:
        barrier.wait(60)
        return int(request("GET", path, cookie)["status"])

    return list(threads.map(ask, range(THREADS)))


def vote(assignment: Assignment, cookie: str) -> dict[str, Any]:
    """Vote on the first pair."""
    form = {"pair_key": assignment.displays.earliest("position").pair.key, "choice": "left"}
    connection.close()
    return request("POST", f"/rate/hit/{assignment.key}/vote/", cookie, {**form, "csrfmiddlewaretoken": "a" * 32})


def vote_while_connections_end(assignment: Assignment, cookie: str) -> dict[str, Any]:
    """Vote, with the connections ended within the vote's own transaction, just before it writes."""
    ended: list[int] = []

    def end(execute: Any, sql: str, *call: Any) -> Any:
        if sql.startswith("INSERT") and not ended:
            ended.append(end_connections())
        return execute(sql, *call)

    with connection.execute_wrapper(end):
        told = vote(assignment, cookie)
    return {**told, "ended": len(ended)}


def main() -> None:
    """Make a HIT, lose all connections between requests and within one, and say what came of each."""
    # Static files by their own names: none has to be collected.
    settings.STORAGES["staticfiles"] = {"BACKEND": "django.contrib.staticfiles.storage.StaticFilesStorage"}
    if not connection.introspection.table_names():
        # Tables straight from the models: all migrations take ten seconds of a processor.
        settings.MIGRATION_MODULES = {app.label: None for app in apps.get_app_configs()}
        call_command("migrate", run_syncdb=True, verbosity=0)
    study = make_study(instances=1, k=2)
    make_batch(study, pairs=2)
    assignment = claim(make_annotator(study))
    client = signed_in(assignment.annotator.user)
    cookie = f"sessionid={client.cookies['sessionid'].value}"
    page = f"/rate/hit/{assignment.key}/"
    connection.close()
    with ThreadPoolExecutor(THREADS) as threads:
        told: dict[str, Any] = {"before": together(threads, page, cookie)}
        told["ended"] = end_connections()
        told["after"] = together(threads, page, cookie)
    told["within"] = vote_while_connections_end(assignment, cookie)
    told["stored_within"] = Rating.objects.count() + VoteChange.objects.count()
    told["again"] = vote(assignment, cookie)
    told["stored_again"] = Rating.objects.count()
    connection.close()
    sys.stdout.write(f"{json.dumps(told)}\n")


main()
