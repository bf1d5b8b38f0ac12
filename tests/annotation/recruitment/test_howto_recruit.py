"""The page on where raters come from, walked through: its commands are taken from the page itself."""

import re
import shlex
from pathlib import Path

import pytest
from django.core.management import call_command
from django.test import Client

from annotation.models import Annotator, Channel
from tests.howto import text_of

ROOT = Path(__file__).resolve().parent.parent.parent.parent
PAGE = text_of("docs/howto/recruit.md#where-raters-come-from")
COMMANDS = [line for block in re.findall(r"```sh\n(.*?)```", PAGE, re.DOTALL) for line in block.strip().splitlines()]

pytestmark = pytest.mark.django_db


@pytest.fixture
def said(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> str:
    """Return what the page's commands print."""
    monkeypatch.chdir(ROOT)
    for command in COMMANDS:
        for rater in Annotator.objects.order_by("pk")[:1]:
            Annotator.objects.filter(pk=rater.pk).update(code="r-1a2b3c4d")  # whom the page names
        program, *arguments = shlex.split(command)
        assert program == "./manage.py"
        call_command(*arguments)
    return capsys.readouterr().out


@pytest.mark.slow
def test_the_pages_links_lead_raters_to_a_hit(said: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert said.count("https://rate.example.org/join/") == 20
    assert list(Channel.objects.values_list("name", "batch__name")) == [
        ("Invitations", None),
        ("Invitations: main", "main"),
    ]
    assert Annotator.objects.count() == 45

    links = re.findall(r"(/join/[\w-]+/[\w-]+/)", said)
    assert Client().get(links.pop()).status_code == 302  # in place of the first one
    for link in (links[1], links[-1]):  # into every batch, and into one
        client = Client()
        consent = client.get(link, follow=True)
        page = client.post(consent.redirect_chain[-1][0], {"answer": "accept"}, follow=True)
        assert re.fullmatch(r"/rate/hit/[\w-]+/", page.redirect_chain[-1][0])
