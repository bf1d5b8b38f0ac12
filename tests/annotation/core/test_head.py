"""Answers to HEAD have the headers of GET and no body, so that the server has nothing to drop and to warn of."""

import pytest
from django.core.handlers.wsgi import WSGIHandler
from django.test import RequestFactory

pytestmark = pytest.mark.django_db


@pytest.mark.parametrize("path", ["/login/", "/healthz", "/no/such/page/", "/api/v1/studies/"])
def test_head_has_the_headers_of_get_and_no_body(path: str) -> None:
    bodies, headers = {}, {}
    for method in ("GET", "HEAD"):

        def start(status: str, fields: list[tuple[str, str]], method: str = method) -> None:
            headers[method] = (status, sorted(name for name, _value in fields))

        answer = WSGIHandler()(RequestFactory().generic(method, path).environ, start)
        bodies[method] = b"".join(answer)
    assert headers["HEAD"] == headers["GET"]
    assert bodies["GET"]
    assert bodies["HEAD"] == b""
