"""A server that sends mails to a real mail server on this machine."""

from collections.abc import Iterator
from typing import Any

import pytest

from tests.smtp import Postbox, mail_server


@pytest.fixture
def post(settings: Any) -> Iterator[Postbox]:
    with mail_server() as box:
        settings.MAIL_ON = True
        settings.EMAIL_BACKEND = "django.core.mail.backends.smtp.EmailBackend"
        settings.EMAIL_HOST, settings.EMAIL_PORT = "127.0.0.1", box.port
        settings.EMAIL_USE_TLS = settings.EMAIL_USE_SSL = False
        settings.BASE_URL = "https://tandem.example.org"
        settings.PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]
        yield box
