"""The frame of a study's pages: where one is, the tabs, and the help that fits the page."""

import re
from pathlib import Path

import pytest
from django.test import Client

from reporting.study_pages.help_views import pages
from reporting.templatetags.navigation import DEFAULT_TOPIC, TOPICS, help_page, tabs_of
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
    assert 'href="/studies/study/channels/" aria-current="page"' in page
    assert page.count('aria-current="page"') == 1
    assert 'href="/help/howto/recruit.md"' in page
    crumbs = re.search(r'(?s)class="crumbs">(.*?)</nav>', page)
    assert crumbs is not None
    assert re.findall(r'href="(.*?)"', crumbs[1]) == ["/studies/", "/studies/study/", "/studies/study/channels/"]
    below = client.get(f"/studies/study/batches/{batch.pk}/").text
    assert below.count('aria-current="page"') == 1  # the name of the batch, which is under no tab
    assert 'href="/help/howto/watch_a_batch.md"' in below


@pytest.mark.parametrize(
    ("path", "tab"),
    [
        ("judges/runs/3/", "Judges"),
        ("accuracy/", "Judges"),
        ("reports/disagreements/", "Findings"),
        ("reports/", "Reports"),
        ("upload/", "Instances"),
        ("settings/", None),
    ],
)
def test_a_page_is_under_the_tab_that_leads_to_it(path: str, tab: str | None) -> None:
    tabs = tabs_of(make_study(instances=1), f"/studies/study/{path}")
    assert [one.label for one in tabs if one.is_current] == ([tab] if tab else [])


def test_raters_are_not_sent_to_the_documentation() -> None:
    rater = signed_in(make_user("rater", "annotator", study=make_study()))
    assert "/help/" not in rater.get("/rate/", follow=True).text
