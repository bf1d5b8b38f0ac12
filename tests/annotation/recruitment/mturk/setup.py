"""What the tests of the MTurk channel share: a study with an open batch, a channel, and the stand-in server."""

from collections.abc import Iterator
from contextlib import contextmanager
from copy import deepcopy
from dataclasses import dataclass
from typing import Any

import pytest
from django.core.cache import cache
from django.http import HttpResponse
from django.test import Client, override_settings
from django.utils import timezone

from annotation.models import Channel, Study
from annotation.recruitment.channels import make_channel
from annotation.recruitment.mturk.client import RunSummary
from annotation.recruitment.mturk.hits import publish
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
BEFORE_EFFECT = [pytest.param(THROTTLED, id="throttled"), pytest.param(FAULT, id="fault"), pytest.param(CUT, id="cut")]
AFTER_EFFECT = [pytest.param(LOST, id="lost"), pytest.param(Trouble(FAULT, takes_effect=True), id="fault")]
# Where all transports' failures are not tried: one after which nothing was done, and those after which it was.
ONE_BEFORE_EFFECT = [BEFORE_EFFECT[0], *AFTER_EFFECT]


@contextmanager
def stand_in(patch: pytest.MonkeyPatch) -> Iterator[MturkServer]:
    """Run the stand-in, with a key for it in the environment, and requests that end soon.

    A test that changes the key must do so by the same `patch`: of two, the one undone last would bring the key back.
    """
    with MturkServer() as server:
        patch.setenv("MTURK_ACCESS_KEY", ACCESS_KEY)
        patch.setenv("MTURK_SECRET_KEY", SECRET_KEY)
        patch.setattr("annotation.recruitment.mturk.client.ATTEMPTS", 1)
        patch.setattr("annotation.recruitment.mturk.client.READ_SECONDS", 1.5)
        yield server


def allowed(server: MturkServer) -> list[str]:
    return [server.url.removeprefix("http://")]


@pytest.fixture
def mturk(settings: Any, monkeypatch: pytest.MonkeyPatch) -> Iterator[MturkServer]:
    cache.clear()  # of what was asked in another test
    with stand_in(monkeypatch) as server:
        settings.PLATFORM_ALLOWLIST = allowed(server)
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


@pytest.fixture(scope="module")
def stored_channel(module_rows: None) -> int:
    """Make one channel for a module without tests that commit; return its row's number."""
    return make_mturk().pk


def at_stand_in(stored_channel: int, mturk: MturkServer) -> Channel:
    """Have the requests of the module's channel go to a stand-in."""
    channel = Channel.objects.get(pk=stored_channel)
    channel.options["endpoint"] = mturk.url
    channel.save(update_fields=["options"])
    return channel


@pytest.fixture(name="channel")
def shared_channel(stored_channel: int, mturk: MturkServer) -> Channel:
    """Return that channel as it is in this test."""
    return at_stand_in(stored_channel, mturk)


@dataclass(frozen=True)
class StoredWork:
    """An assignment that a worker submitted here and on MTurk, which we were told of, and the account there."""

    assignment: str
    account: dict[str, Any]


@pytest.fixture(scope="module")
def stored_work(stored_channel: int) -> StoredWork:
    """Have an assignment of the module's channel offered, done and submitted."""
    with (
        pytest.MonkeyPatch.context() as patch,
        stand_in(patch) as server,
        override_settings(PLATFORM_ALLOWLIST=allowed(server)),
    ):
        channel = at_stand_in(stored_channel, server)
        offer(channel)
        assignment = do_work(server, channel, "3HIT00001", "AWORKER1")
        sync(channel=channel, at=timezone.now())
        account = {name: getattr(server, name) for name in ("hits", "assignments", "tokens")}
        return StoredWork(assignment, deepcopy(account))


@pytest.fixture
def submitted(stored_work: StoredWork, mturk: MturkServer) -> str:
    """Give this test's stand-in the account of the submitted assignment; return the assignment."""
    for name, held in deepcopy(stored_work.account).items():
        setattr(mturk, name, held)
    return stored_work.assignment
