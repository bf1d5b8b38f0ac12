"""What the tests of the MTurk channel share: a study with an open batch, a channel, and the stand-in server."""

from collections.abc import Iterator
from typing import Any

import pytest
from django.http import HttpResponse
from django.test import Client

from annotation.models import Channel, Study
from annotation.recruitment.channels import make_channel
from tests.annotation.recruitment.mturk.server import ACCESS_KEY, SECRET_KEY, MturkServer
from tests.factories import make_batch, make_study

SANDBOX = "https://workersandbox.mturk.com"
OPTIONS: dict[str, Any] = {
    "site": "sandbox",
    "title": "Compare two texts",
    "description": "Read a text and compare two others about it.",
    "keywords": "text, reading",
    "reward": "0.50",
    "access_key_env": "MTURK_ACCESS_KEY",
    "secret_key_env": "MTURK_SECRET_KEY",
}


@pytest.fixture
def mturk(settings: Any, monkeypatch: pytest.MonkeyPatch) -> Iterator[MturkServer]:
    """The stand-in, with a key for it in the environment, and requests that end soon."""
    monkeypatch.setenv("MTURK_ACCESS_KEY", ACCESS_KEY)
    monkeypatch.setenv("MTURK_SECRET_KEY", SECRET_KEY)
    monkeypatch.setattr("annotation.recruitment.mturk.client.ATTEMPTS", 1)
    monkeypatch.setattr("annotation.recruitment.mturk.client.READ_SECONDS", 1.5)
    with MturkServer() as server:
        settings.PLATFORM_ALLOWLIST = [server.url.removeprefix("http://")]
        yield server


def make_mturk(server: MturkServer | None = None, *, study: Study | None = None, **options: Any) -> Channel:
    """Make an open MTurk channel of a study with an open batch; its requests go to the stand-in, if there is one."""
    if study is None:
        study = make_study(instances=3, k=2)
        make_batch(study, pairs=2, raters=2)
    given = {**OPTIONS, **({"endpoint": server.url} if server else {}), **options}
    return make_channel(study=study, kind="mturk", name="MTurk", options=given, is_open=True)


def address(
    worker: str = "AWORKER1", assignment: str = "3ASSIGNMENT1", hit: str = "3HIT1", **changes: str
) -> dict[str, str]:
    """What MTurk appends to the address of the page in its frame."""
    told = {"workerId": worker, "assignmentId": assignment, "hitId": hit, "turkSubmitTo": SANDBOX}
    return {key: value for key, value in {**told, **changes}.items() if value}


def open_frame(channel: Channel, **told: str) -> HttpResponse:
    """Open MTurk's frame, in which no cookie of ours is sent or kept."""
    return Client().get(f"/join/{channel.key}/", address(**told))
