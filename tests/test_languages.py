"""The pages in the language of their reader, and data that are the same in every language."""

import html
import re
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from django.template.loader import render_to_string
from django.test import Client
from django.utils import timezone, translation

from annotation.models import Annotator, Assignment, ComparisonTable, Pair, Study
from annotation.rating.votes import lock_first_votes
from annotation.recruitment.invitations import invite, send_mails
from tests.factories import (
    NOON,
    add_instances,
    claim,
    instance_rows,
    make_annotator,
    make_batch,
    make_study,
    make_user,
    rate,
    signed_in,
)
from tools import messages

pytestmark = pytest.mark.slow

ROOT = Path(__file__).resolve().parent.parent
GERMAN = {"HTTP_ACCEPT_LANGUAGE": "de-AT,de;q=0.9,en;q=0.5"}


@pytest.fixture
def study(db: None) -> Study:
    study = make_study(
        instances=3,
        k=2,
        question="Welche ist knapper, which is briefer?",
        contact="mail@study.example",
        source_label="Bericht",
    )
    make_batch(study, raters=1)
    return study


def rater_pages(study: Study) -> tuple[Annotator, list[str]]:
    """A rater in the middle of the work, and the addresses of their pages."""
    annotator = make_annotator(study)
    client = signed_in(annotator.user)
    rate(Assignment.objects.get(key=client.get("/rate/").headers["Location"].split("/")[-2]))
    hit = client.get("/rate/").headers["Location"]
    consent = f"/rate/consent/{study.key}/"
    return annotator, [hit, f"{hit}return/", consent, f"{consent}withdraw/", "/rate/progress/"]


def reader_pages(study: Study) -> list[str]:
    """The addresses of a researcher's pages."""
    inside = ["", "upload/", "settings/", "batches/new/", f"batches/{study.batches.get().pk}/", "instances/"]
    more = [f"instances/{study.instances.first().pk}/", "judges/", "findings/", "reports/"]  # type: ignore[union-attr]
    return [
        "/studies/",
        "/studies/new/",
        *(f"/studies/{study.slug}/{page}" for page in (*inside, *more)),
        "/api/v1/token/",
    ]


@cache
def german() -> messages.Texts:
    return messages.read(ROOT, "de")


def english_left(page: str) -> list[str]:
    """List the texts on a page that German has other words for; short ones may be parts of others.

    What stands as code, as `scheme=tournament`, is the same in every language, and the methods' own descriptions are
    marked as English.
    """
    page = re.sub(r'<code\b[^<>]*>.*?</code>|<span lang="en">.*?</span>', " ", page, flags=re.DOTALL)
    visible = re.sub(r"\s+", " ", html.unescape(re.sub(r"<[^<>]*>", " ", page)))
    texts = [text for text in german() if isinstance(text.id, str) and len(text.id) > 8]
    return [
        text.id
        for text in texts
        if text.id != text.string and text.id in visible  # most are not, which is quicker to see
        if re.search(rf"(?<!\w){re.escape(text.id)}(?!\w)", visible)
    ]


def on_one_line(response: Any) -> str:
    """Return a page without its line breaks."""
    return " ".join(response.content.decode().split())


@pytest.mark.parametrize(
    ("header", "language"),
    [
        pytest.param("de-CH, en", "de", id="Swiss German"),
        pytest.param("tlh, de;q=0.4", "de", id="second choice"),
        pytest.param("tlh", "en", id="unknown"),
        pytest.param("", "en", id="none"),
    ],
)
def test_a_page_is_in_the_language_that_the_browser_asks_for(
    client: Client, db: None, header: str, language: str
) -> None:
    response = client.get("/login/?language=fr", HTTP_ACCEPT_LANGUAGE=header)  # no address sets a language
    assert f'<html lang="{language}" dir="ltr">' in on_one_line(response)
    assert response.headers["Content-Language"] == language
    assert "Accept-Language" in response.headers["Vary"]
    assert ("Anmelden" in response.content.decode()) == (language == "de")


def test_every_page_of_a_rater_is_german_for_a_german_browser(study: Study) -> None:
    annotator, pages = rater_pages(study)
    client, english = signed_in(annotator.user, **GERMAN), signed_in(annotator.user)

    for page in pages:
        text = client.get(page).content.decode()
        assert '<html lang="de"' in text, page
        assert english_left(text) == [], page
        assert english_left(english.get(page).content.decode()) != [], page
    hit = client.get(pages[0]).content.decode()
    assert "Paar 1" in hit
    assert study.question in hit
    assert "mail@study.example" in hit


def test_both_stages_are_german_for_a_german_browser(db: None) -> None:
    study = make_study(instances=1, protocol="two-stage", arms=["table:c8"])
    row = {"aspect": "Aspekt", "only_a": "a", "both": "ab", "only_b": "b"}
    ComparisonTable.objects.bulk_create(
        ComparisonTable(study=study, table_id=f"t{pair.pk}", pair=pair, variant="c8", rows=[row])
        for pair in Pair.objects.all()
    )
    make_batch(study, raters=1)
    annotator = make_annotator(study)
    client = signed_in(annotator.user, **GERMAN)
    assignment = rate(claim(annotator), "left", submit=False)

    first = client.get(f"/rate/hit/{assignment.key}/").content.decode()
    lock_first_votes(assignment=assignment, at=NOON)
    second = client.get(f"/rate/hit/{assignment.key}/").content.decode()

    assert "Meine Wahl festlegen und weiter" in first
    assert "Nicht durch die Texte belegt" in second
    assert english_left(first) == english_left(second) == []


@pytest.mark.parametrize("attempts", [1, 2])  # after the last one, and before another one
def test_a_qualification_is_german_for_a_german_browser(db: None, attempts: int) -> None:
    study = make_study(instances=1, qualification_attempts=attempts)
    gold = {"better": "alpha", "why": "Weil es kürzer ist."}
    rows = [replace(row, gold=gold) for row in instance_rows(instances=1, prefix="gold")]
    add_instances(study, rows)
    make_batch(study, name="first", purpose="qualification", select="ids", instance_ids=["gold-1"])
    annotator = make_annotator(study)
    client = signed_in(annotator.user, **GERMAN)
    assignment = rate(claim(annotator), "none")

    for page in (f"/rate/hit/{assignment.key}/feedback/", f"/rate/qualification/{study.key}/", "/rate/progress/"):
        text = client.get(page, follow=True).content.decode()
        assert '<html lang="de"' in text, page
        assert english_left(text) == [], page


def test_pages_of_researchers_stay_english_and_offer_no_other_language(study: Study) -> None:
    client = signed_in(make_user("lead", "study-admin", study=study), **GERMAN)
    client.cookies["django_language"] = "de"

    for page in reader_pages(study):
        response = client.get(page)
        assert response.status_code == 200, page
        assert '<html lang="en"' in response.content.decode(), page
        assert "Deutsch" not in response.content.decode(), page


@pytest.mark.parametrize(("language", "subject"), [("de-AT", "Einladung"), ("en", "Invitation"), ("fr", "Invitation")])
def test_an_invitation_is_in_the_language_of_the_texts(
    study: Study, mailoutbox: list[Any], language: str, subject: str
) -> None:
    study.language = language
    study.save()
    channel = study.channels.create(kind="accounts", name="known", is_open=True)
    invite(channel=channel, count=1, base_url="", at=timezone.now(), addresses=["ann@example.org"])

    send_mails(at=timezone.now())

    assert subject in mailoutbox[0].subject


def test_a_rater_is_told_in_german_why_there_is_nothing_to_rate(db: None) -> None:
    text = signed_in(make_annotator(make_study(instances=1)).user, **GERMAN).get("/rate/").content.decode()
    assert "Gerade kein HIT für Sie" in text
    assert english_left(text) == []


def test_refusals_and_errors_are_told_in_the_language_of_the_reader(study: Study) -> None:
    annotator, pages = rater_pages(study)
    client = signed_in(annotator.user, **GERMAN)
    sent = {"pair_key": "nothing-of-that", "choice": "left"}
    refused = client.post(f"{pages[0]}vote/", sent, headers={"HX-Request": "true"})
    assert refused.status_code == 404
    assert "Dieses Paar ist nicht auf dieser Seite." in refused.content.decode()
    assert "Nicht gefunden" in client.get("/rate/nowhere/").content.decode()
    assert '<html lang="en"' in client.get("/studies/").content.decode()

    with translation.override("de"):
        broken = render_to_string("500.html")
    assert '<html lang="de" dir="ltr">' in " ".join(broken.split())
    assert english_left(broken) == []


def test_a_language_written_from_right_to_left_turns_the_page(client: Client, db: None, settings: Any) -> None:
    settings.LANGUAGES = [*settings.LANGUAGES, ("he", "Hebrew")]

    assert '<html lang="he" dir="rtl">' in on_one_line(client.get("/login/", HTTP_ACCEPT_LANGUAGE="he"))


# Choosing


def test_the_choice_at_the_foot_wins_over_the_browser_and_stays(study: Study) -> None:
    annotator, pages = rater_pages(study)
    client = signed_in(annotator.user, **GERMAN)

    response = client.post("/language/", {"language": "en", "next": pages[0]})

    assert response.headers["Location"] == pages[0]
    assert response.cookies["django_language"]["max-age"] > 300 * 24 * 3600
    assert '<html lang="en"' in client.get(pages[0]).content.decode()
    client.post("/language/", {"language": "de", "next": pages[0]})
    assert '<html lang="de"' in client.get(pages[0]).content.decode()


def test_the_switch_needs_a_post_with_its_token_and_leads_to_no_other_site(db: None) -> None:
    client = Client(enforce_csrf_checks=True)
    page = client.get("/login/?next=/rate/").content.decode()
    token = re.search(r'name="csrfmiddlewaretoken" value="(\w+)"', page)
    assert token is not None
    sent = {"language": "de", "csrfmiddlewaretoken": token.group(1)}

    assert client.get("/language/?language=de").status_code == 405
    assert client.post("/language/", {"language": "de"}).status_code == 403
    assert client.post("/language/", {**sent, "next": "https://evil.example/"}).headers["Location"] == "/"
    assert 'name="next" value="/login/?next=/rate/"' in re.sub(r"\s+", " ", page)
