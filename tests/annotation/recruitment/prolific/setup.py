"""What tests of Prolific share: a channel set to the stand-in server, and participants who come from there."""

from collections.abc import Iterator
from typing import Any

import pytest
from django.core.cache import cache
from django.http import HttpResponse
from django.test import Client

from annotation.annotators.consent import answer_consent
from annotation.models import Annotator, Channel, Study
from annotation.recruitment.base import WorkOutcome
from annotation.recruitment.channels import make_channel
from annotation.recruitment.prolific.client import ProlificClient
from annotation.recruitment.prolific.site import ProlificSettings
from tests.annotation.recruitment.prolific.server import STUDY, TOKEN, ProlificServer
from tests.factories import NOON, claim, make_batch, make_study, rate

PID, OTHER_PID = "5f1a2b3c4d5e6f7a8b9c0d1e", "5f1a2b3c4d5e6f7a8b9c0d1f"
SESSION, OTHER_SESSION = "61015b057bd72ddc7244edb9", "61015b057bd72ddc7244edba"
SECRET = "the-webhook-secret"
CODES = {"code_completed": "DONE1", "code_screened_out": "OUT1", "code_timed_out": "LATE1", "code_no_consent": "NOCON1"}
WORDS = (
    "The hidden checks were answered as if the texts had not been read at all, in every single one of the HITs. Sorry."
)
assert len(WORDS) >= 100


def settings_for(server: ProlificServer) -> dict[str, Any]:
    """Return the settings that allow the stand-in on this machine, with its token in the environment."""
    keys = {"PROLIFIC_TOKEN": TOKEN, "PROLIFIC_WEBHOOK_SECRET": SECRET}
    return {"ENDPOINT_KEY": keys.get, "PLATFORM_ALLOWLIST": [server.url.removeprefix("http://")]}


@pytest.fixture
def prolific(settings: Any) -> Iterator[ProlificServer]:
    """Run the stand-in, allowed."""
    cache.clear()
    with ProlificServer() as server:
        for name, value in settings_for(server).items():
            setattr(settings, name, value)
        yield server
    cache.clear()


def store_study() -> Study:
    """Make a study of three HITs."""
    study = make_study(instances=3)
    make_batch(study, raters=1)
    return study


@pytest.fixture
def study() -> Study:
    return store_study()


@pytest.fixture(scope="module")
def stored_study(module_rows: None) -> int:
    """Make one study for a module without tests that commit; return its row's number."""
    return store_study().pk


@pytest.fixture(name="study")
def shared_study(stored_study: int) -> Study:
    """Return that study as it is in this test: in the place of `study`."""
    return Study.objects.get(pk=stored_study)


@pytest.fixture
def channel(study: Study, prolific: ProlificServer) -> Channel:
    return make_prolific(study, prolific)


@pytest.fixture(scope="module")
def stored_channel(stored_study: int) -> int:
    """Make one channel of that study; return its row's number."""
    return make_prolific(Study.objects.get(pk=stored_study)).pk


@pytest.fixture(name="channel")
def shared_channel(stored_channel: int, prolific: ProlificServer) -> Channel:
    """Return that channel as it is in this test: in the place of `channel`."""
    return set_to(prolific, stored_channel)


def set_to(server: ProlificServer, stored_channel: int) -> Channel:
    """Have the requests of the module's channel go to a stand-in."""
    channel = Channel.objects.get(pk=stored_channel)
    channel.options["api_url"] = server.url
    channel.save(update_fields=["options"])
    return channel


def make_prolific(study: Study, server: ProlificServer | None = None, **options: Any) -> Channel:
    """Make an open channel."""
    given = {
        "study_id": STUDY,
        **CODES,
        "token_env": "PROLIFIC_TOKEN",
        "webhook_secret_env": "PROLIFIC_WEBHOOK_SECRET",
        "api_url": server.url if server else "",
        "bonus_cap": "5.00",
        **options,
    }
    name = f"Prolific {study.channels.count() + 1}"
    return make_channel(study=study, kind="prolific", name=name, options=given, is_open=True)


def client_of(channel: Channel, **settings: Any) -> ProlificClient:
    """Return a client that notes its pauses instead of making them, in `.paused`."""
    paused: list[float] = []
    client = ProlificClient(ProlificSettings(channel), sleep=paused.append, **settings)
    client.paused = paused  # type: ignore[attr-defined]
    return client


def link(channel: Channel, pid: str = PID, session: str = SESSION, study: str = STUDY, **more: str) -> str:
    """Write the address that Prolific opens."""
    named = {"PROLIFIC_PID": pid, "STUDY_ID": study, "SESSION_ID": session, **more}
    query = "&".join(f"{name}={value}" for name, value in named.items())
    return f"/join/{channel.key}/?{query}"


def come(channel: Channel, browser: Client | None = None, **ids: str) -> tuple[HttpResponse, Client]:
    """Open the address in a browser."""
    browser = browser or Client()
    return browser.get(link(channel, **ids)), browser  # type: ignore[return-value]


def rater(channel: Channel, pid: str = PID) -> Annotator:
    """Return the annotator that a participant is."""
    return channel.participants.get(external_id=pid).annotator


def join_and_rate(channel: Channel, *, pid: str = PID, session: str = SESSION) -> Annotator:
    """Have a participant come, consent and submit a HIT."""
    come(channel, pid=pid, session=session)
    annotator = rater(channel, pid)
    answer_consent(annotator=annotator, accepted=True, at=NOON)
    rate(claim(annotator))
    return annotator


__all__ = ["NOON", "WorkOutcome", "channel", "prolific", "study"]
