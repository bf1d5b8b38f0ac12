"""What the tests of the MTurk channel share: a study with an open batch, a channel, and the stand-in server."""

from collections.abc import Iterator
from typing import Any

import pytest
from django.http import HttpResponse
from django.test import Client
from django.utils import timezone

from annotation.models import Channel, Study
from annotation.recruitment.channels import make_channel
from annotation.recruitment.mturk.hits import publish
from annotation.recruitment.mturk.requests import RunSummary
from annotation.recruitment.mturk.sync import sync
from annotation.recruitment.mturk.work import MturkArrival, arrive, begin, settle
from tests.annotation.recruitment.mturk.server import (
    ACCESS_KEY,
    CUT,
    FAULT,
    LOST,
    SECRET_KEY,
    THROTTLED,
    MturkServer,
    Trouble,
)
from tests.factories import claim, make_batch, make_study, rate

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
# Failures before and after MTurk has done what was asked.
BEFORE_EFFECT = [
    pytest.param(THROTTLED, id="throttled"),
    pytest.param(FAULT, id="fault"),
    pytest.param(CUT, id="cut"),
]
AFTER_EFFECT = [
    pytest.param(LOST, id="lost"),
    pytest.param(Trouble(FAULT, takes_effect=True), id="fault"),
]


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


def offer(channel: Channel, **more: Any) -> RunSummary:
    return publish(channel=channel, at=timezone.now(), **more)


def places(server: MturkServer) -> int:
    return sum(hit["MaxAssignments"] for hit in server.hits.values())


def do_work(server: MturkServer, channel: Channel, hit_id: str, worker: str) -> str:
    """Have a worker accept a HIT, rate one of ours, and submit the form with the code; returns the assignment."""
    assignment = server.accept(hit_id, worker)
    now = timezone.now()
    arrival = MturkArrival(worker_id=worker, assignment_id=assignment, hit_id=hit_id)
    submission = arrive(channel=channel, arrival=arrival, verified="", at=now)
    rater = begin(submission=submission, opens=0, device=worker, at=now)
    rater.consents.create(version=1, accepted=True)
    rate(claim(rater, timezone.now()), at=timezone.now())
    settle(participant=rater.participant)
    submission.refresh_from_db()
    server.submit(assignment, code=submission.code)
    return assignment


@pytest.fixture
def channel(mturk: MturkServer) -> Channel:
    return make_mturk(mturk)


@pytest.fixture
def submitted(mturk: MturkServer, channel: Channel) -> str:
    """An assignment that a worker submitted here and on MTurk, which we were told of."""
    offer(channel)
    assignment = do_work(mturk, channel, "3HIT00001", "AWORKER1")
    sync(channel=channel, at=timezone.now())
    return assignment
