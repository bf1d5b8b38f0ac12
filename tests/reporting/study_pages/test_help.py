"""The frame of a study's pages: the navigation, and the help that fits the page."""

import re
from pathlib import Path

import pytest
from django.test import Client
from django.urls import reverse

from reporting.study_pages.help_views import pages
from reporting.templatetags.navigation import DEFAULT_TOPIC, ENTRIES, TOPICS, help_page, navigation_of
from tests.factories import make_batch, make_study, make_user, signed_in
from tests.routes import routes

ROOT = Path(__file__).resolve().parents[3]
pytestmark = pytest.mark.django_db


def test_help_is_about_pages_that_there_are() -> None:
    views = {route.name.rpartition(":")[2] for route in routes()}
    named = [view for listed in TOPICS.values() for view in listed.split()]
    assert sorted(set(named) - views) == []
    assert len(named) == len(set(named))
    assert {*TOPICS, DEFAULT_TOPIC} <= pages()
    assert help_page("annotation:new-batch") == "howto/make_a_batch.md"
    assert help_page("") == "glossary.md"


@pytest.mark.parametrize("page", ["nothing.md", "../README.md", "../config/settings.py", "howto/"])
def test_only_pages_of_the_documentation_are_shown(page: str) -> None:
    client = signed_in(make_user("r", "researcher"))
    assert client.get(f"/help/{page}").status_code == 404
    assert Client().get("/help/glossary.md").status_code == 302


def test_pages_have_no_rows_of_forms_or_empty_lists_of_their_own() -> None:
    for path in (ROOT / "templates").rglob("*.html"):
        text = path.read_text(encoding="utf-8")
        if "rating" in path.parts:
            continue
        assert not re.search(r"\.as_(p|div|table)\b", text), f"{path} renders a form without the component"
        assert not re.search(r'<td colspan="\d+">{% translate "N', text), f"{path} shows a table without rows"


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
    assert 'href="/help/howto/recruit.md"' in page
    below = client.get(f"/studies/study/batches/{batch.pk}/").text
    crumbs = re.search(r'(?s)class="crumbs">(.*?)</nav>', below)
    assert crumbs is not None
    assert re.findall(r'href="(.*?)"', crumbs[1]) == ["/studies/", "/studies/study/"]
    assert below.count('aria-current="page"') == 1  # the name of the batch, which is not in the navigation
    assert 'href="/help/howto/watch_a_batch.md"' in below


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
