"""The frame of a study's pages: the navigation, and the help that fits the page."""

import re
from html import unescape
from urllib.parse import urljoin

import pytest
from django.test import Client
from django.urls import reverse

from annotation.recruitment.base import adapters
from reporting.study_pages.help_views import pages, search, sections
from reporting.templatetags.navigation import ENTRIES, TOPICS, help_topic, navigation_of
from tests.factories import make_batch, make_study, make_user, signed_in
from tests.routes import routes

pytestmark = pytest.mark.django_db


def test_help_is_about_pages_and_sections_that_there_are() -> None:
    views = {route.name.rpartition(":")[2] for route in routes()}
    named = [view for listed in TOPICS.values() for view in listed.split()]
    assert sorted(set(named) - views) == []
    assert len(named) == len(set(named))
    anchors = {f"{section.page}#{section.anchor}" for section in sections()}
    assert set(TOPICS) - pages() - anchors == set()
    kinds = {adapter.help_page for adapter in adapters().values()}
    assert kinds - pages() - anchors == set()
    assert help_topic("annotation:new-batch") == "howto/make_a_batch.md#1-choose"
    assert help_topic("") == ""


@pytest.mark.slow
@pytest.mark.parametrize("page", sorted(pages()))
def test_links_and_pictures_of_a_page_lead_to_what_is_shown(reader: Client, page: str) -> None:
    text = reader.get(f"/help/{page}").text
    article = text[text.index("<article") :]
    for target in re.findall(r'(?:href|src)="([^"]+)"', article):
        address, _, anchor = unescape(target).partition("#")
        if ":" in address:
            continue
        answer = reader.get(urljoin(f"/help/{page}", address)) if address else None
        assert answer is None or answer.status_code == 200, target
        if anchor:
            assert f'id="{anchor}"' in (answer.text if answer else article), target


def test_contents_list_every_page_once(reader: Client) -> None:
    listed = re.findall(r'href="/help/([\w/-]+\.md)"', reader.get("/help/").text)
    assert sorted(listed) == sorted(pages())


@pytest.mark.parametrize(
    ("query", "first"),
    [
        ("consistency", "/help/measures.md#consistency"),
        ("STRESS tests", "/help/howto/audit_a_judge.md#stress-tests"),
        ("xylophone quokka", None),
        ("", None),
    ],
)
def test_search_finds_sections_with_all_words_and_titles_first(reader: Client, query: str, first: str | None) -> None:
    found = search(query)
    assert [f"/help/{section.page}#{section.anchor}" for section, _excerpt in found[:1]] == [first][: len(found)]
    assert bool(found) == bool(first)
    page = reader.get("/help/", {"q": query}).text
    assert first is None or f'href="{first}"' in page


@pytest.mark.parametrize("page", ["nothing.md", "../README.md", "../config/settings.py", "howto/", "images/no.png"])
def test_only_pages_of_the_documentation_are_shown(reader: Client, page: str) -> None:
    assert reader.get(f"/help/{page}").status_code == 404
    assert Client().get("/help/glossary.md").status_code == 302


@pytest.mark.slow
def test_a_page_shows_where_it_is() -> None:
    study = make_study(instances=1)
    batch = make_batch(study)
    client = signed_in(make_user("manager", "study-admin", study=study))

    page = client.get("/studies/study/channels/").text
    assert page.count('aria-current="page"') == 1
    assert re.findall(r'href="(.*?)" aria-current="(.*?)"', page) == [
        ("/studies/study/channels/", "true"),
        ("/studies/study/channels/", "page"),
    ]
    assert 'href="/help/howto/recruit.md#where-raters-come-from"' in page
    below = client.get(f"/studies/study/batches/{batch.pk}/").text
    crumbs = re.search(r'(?s)class="crumbs">(.*?)</nav>', below)
    assert crumbs is not None
    assert re.findall(r'href="(.*?)"', crumbs[1]) == ["/studies/", "/studies/study/"]
    assert below.count('aria-current="page"') == 1  # the name of the batch, which is not in the navigation
    assert 'href="/help/howto/watch_a_batch.md#the-page"' in below


@pytest.mark.parametrize(
    ("path", "entry", "page"),
    [
        ("", "Overview", ("Overview", "page")),
        ("copy/", "Overview", ("Overview", "true")),
        ("upload/", "Data", ("Import a file", "page")),
        ("reports/", "Raters", ("Reports", "page")),
        ("batches/3/", "Raters", None),
        ("judges/runs/3/", "Judges", ("Judges", "true")),
        ("accuracy/", "Judges", ("Accuracy", "page")),
        ("reports/disagreements/", "Findings", ("Disagreements", "page")),
        ("leaderboard/", "Findings", None),
        ("files/", "Export", None),
    ],
)
def test_a_page_is_under_an_entry(path: str, entry: str, page: tuple[str, str] | None) -> None:
    study = make_study(instances=1)
    entries, pages = navigation_of(study, f"/studies/study/{path}", make_user("r", "researcher", study=study))
    assert len(entries) == 6
    assert [link.label for link in entries if link.current] == [entry]
    assert [(link.label, link.current) for link in pages if link.current] == ([page] if page else [])


def test_only_pages_that_a_user_may_see_are_linked() -> None:
    study = make_study(instances=1)
    researcher, manager = make_user("r", "researcher", study=study), make_user("m", "study-admin", study=study)
    of_researcher, of_manager = (navigation_of(study, "/studies/study/", user)[1] for user in (researcher, manager))
    assert [link.label for link in of_researcher] == ["Overview", "Planner", "Log"]
    assert [link.label for link in of_manager] == ["Overview", "Settings", "Members", "Planner", "Log"]


@pytest.mark.slow
def test_a_page_has_the_name_that_leads_to_it() -> None:
    study = make_study(instances=1)
    client = signed_in(make_user("manager", "study-admin", study=study))
    for label, view in (named for entry in ENTRIES.values() for named in entry if named[0] != "Overview"):
        text = client.get(reverse(view, args=[study.slug])).text
        assert re.findall(r"<h1[^>]*>\s*(.*?)\s*</h1>", text) == [label], view


def test_raters_are_not_sent_to_the_documentation() -> None:
    rater = signed_in(make_user("rater", "annotator", study=make_study()))
    assert "/help/" not in rater.get("/rate/", follow=True).text
