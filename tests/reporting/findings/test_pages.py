"""Pages, pictures and downloads: what they show and to whom."""

import csv
import re
from typing import Any
from urllib.parse import urlencode
from xml.etree import ElementTree

import pytest
from django.test import Client
from django.urls import reverse
from django.utils.text import capfirst

from annotation.models import Assignment, Instance, Study
from judging.models import Judge
from reporting.core.text import SCRIPTED
from tests.factories import make_study, make_user
from tests.reporting.builders import Built, build_configuration, build_study, judge, rate, separate

pytestmark = [pytest.mark.django_db, pytest.mark.slow]
RESULT = re.compile(r'<section class="fold result[^>]*>\s*<h2 id="([a-z]+)"')
HOSTILE = "<script>alert(1)</script>"


def store() -> Built:
    """Two instances with a hostile system name, people, a judge and separability."""
    built = build_configuration(build_study("shown"), instances=2, pairs=2, systems=(HOSTILE, "=cmd()"))
    separate(built, [(0.5, 0.6, 0.1), (0.5, 0.5, 0.4)], [0.9, 0.1])
    rate(built, 0, "ann", [-1, 0])
    rate(built, 1, "bob", [1, 1])
    judge(built, "direct", [(0, 0, "ab", -1), (0, 1, "ab", "unparsed")])
    return built


@pytest.fixture(scope="module")
def shown(stored: Built) -> Any:
    """Return the answer with that study's findings page; its findings are kept for tests that change nothing of it."""
    return signed_in(study=stored.study, name="first-reader").get("/studies/shown/findings/")


def signed_in(role: str = "researcher", study: Study | None = None, name: str = "reader") -> Client:
    client = Client()
    client.force_login(make_user(name, role, study=study), backend="annotation.members.signed_in.AccountBackend")
    return client


def body(response: Any) -> str:
    content = b"".join(response.streaming_content) if response.streaming else response.content
    return bytes(content).decode()


def chart_path(name: str, **query: str) -> str:
    named = {"of": "news", "a": HOSTILE, "b": "=cmd()", **query}
    return f"/studies/shown/charts/{name}?{urlencode(named)}"


def test_findings_page_shows_numbers_pictures_and_downloads(shown: Any) -> None:
    page = body(shown)
    assert shown.status_code == 200
    assert "<bdi>direct</bdi>" in page
    assert "0.750" in page  # people's mean consistency: 0.5 and 1
    for name in ("preferences", "pooled-consistency", "position", "strength-by-bin", "separability"):
        for form in ("svg", "png", "pdf", "csv", "json"):
            assert f"/studies/shown/charts/{name}.{form}?" in page
    assert "charts/agreement.svg" not in page  # an empty picture is its reason
    assert HOSTILE not in page
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in page


def test_of_many_batches_ten_are_named(built: Built) -> None:
    for number in range(11):
        build_configuration(built.study, instances=1, pairs=1, dataset=f"set-{number}", batch=f"batch-{number:02}")
        rate(
            build_configuration(
                built.study, instances=1, pairs=1, dataset=f"rated-{number}", batch=f"rated-{number:02}"
            ),
            0,
            "ann",
            [1],
        )
    Assignment.objects.update(submitted_at=None)  # as where ratings were imported
    page = body(signed_in(study=built.study).get("/studies/shown/findings/"))
    assert re.search(
        r"<dt>Batches with ratings</dt>\s*<dd>\s*news-batch, rated-00, [^<]*rated-08, … \(12\)\s*</dd>", page
    )
    assert re.search(r"<dt>Batches without ratings</dt>\s*<dd>\s*batch-00, [^<]*batch-09, … \(11\)\s*</dd>", page)


def test_a_study_that_judges_alone_rated_shows_what_each_of_them_says() -> None:
    built = build_configuration(build_study("judged"), instances=6, pairs=2)
    cells = [(place, pair) for place in range(6) for pair in (0, 1)]
    judge(built, "direct", [(*cell, "ab", -1) for cell in cells])
    judge(built, "longest", [(*cell, "ab", 1) for cell in cells])
    judge(built, "failing", [(*cell, "ab", "unparsed") for cell in cells])
    Judge.objects.filter(name="longest").update(method="longer")
    page = body(signed_in(study=built.study).get("/studies/judged/findings/"))
    answer = page[page.index('class="answer"') :].split("</ul>")[0]
    assert re.findall(r"“<bdi>(\w+)</bdi>”", answer.split("</p>")[0]) == ["direct", "failing"]
    sections = RESULT.findall(page)
    assert sections == ["rankings", "lengths", "judges", "separability", "position", "configurations", "data"]
    assert set(re.findall(r'<a href="#([a-z]+)">', answer)) <= set(sections)
    assert 'id="table-judges-overall"' not in page
    assert 'id="table-judge-agreement"' in page


def test_clusters_are_counted_and_accuracy_is_linked_where_instances_have_gold_labels(built: Built) -> None:
    reader = signed_in(study=built.study)
    Instance.objects.filter(study=built.study, instance_id="news-1").update(source=" text  0\n")
    assert "2 instances form 1 cluster" in body(reader.get("/studies/shown/findings/"))
    labelled = "1 instance has a gold label"
    assert labelled not in body(reader.get("/studies/shown/findings/"))
    Instance.objects.filter(study=built.study, instance_id="news-1").update(gold={"preferred": "x"})
    page = body(reader.get("/studies/shown/findings/"))
    assert page.index('class="headline"') < page.index(labelled) < page.index("<li>", page.index('class="headline"'))


def test_page_without_a_verdict_has_no_empty_sections() -> None:
    study = build_configuration(build_study("unrated"), instances=2, pairs=2).study
    page = body(signed_in(study=study).get("/studies/unrated/findings/"))
    sections = RESULT.findall(page)
    assert sections == ["configurations", "data"]
    assert set(re.findall(r'<a href="#([a-z]+)">', page)) <= set(sections)
    assert "1 configuration, in detail" in page


def test_sections_have_titles_and_hold_the_targets_of_links(shown: Any) -> None:
    page = body(shown)
    sections = RESULT.findall(page)
    assert sections == [
        *("rankings", "lengths", "judges", "agreement", "separability"),
        *("position", "raters", "configurations", "data"),
    ]
    assert 'id="configuration-1"' in page
    linked = set(re.findall(r'<a href="#([a-z]+)">', page))
    assert {"rankings", "judges", "agreement"} <= linked <= set(sections)
    assert page.count('<details class="dropdown downloads">') == 1


def test_empty_study_says_what_to_do_next() -> None:
    study = build_study("bare")
    client = signed_in(study=study)
    page = body(client.get("/studies/bare/findings/"))
    assert f'<a href="{reverse("annotation:upload", args=[study.slug])}">Import a file' in page
    build_configuration(study, instances=1, pairs=2)
    page = body(client.get("/studies/bare/findings/"))
    for step in ("Compute separability", "Collect ratings", "Let a judge rate"):
        assert step in page


def test_scripted_raters_are_labelled_on_the_page(built: Built, shown: Any) -> None:
    assert "scripted" not in body(shown)
    rate(built, 1, "robot", [1, 1], kind="scripted")
    page = body(signed_in(study=built.study).get("/studies/shown/findings/"))
    assert f"</mark>. {capfirst(SCRIPTED)}." in page
    assert "1 of 3 raters" in page


def test_filters_reach_numbers_and_pictures(built: Built) -> None:
    client = signed_in(study=built.study)
    page = body(client.get("/studies/shown/findings/", {"batch": "news-batch", "with_incomplete": "1"}))
    assert "batch=news-batch&amp;with_incomplete=1" in page
    found = client.get("/studies/shown/findings.json", {"batch": "news-batch", "similarity": "rouge1-length"}).json()
    assert found["filters"]["batches"] == ["news-batch"]
    assert found["configurations"][0]["separability"] is None
    assert client.get("/studies/shown/findings/", {"batch": "nope"}).status_code == 404


@pytest.mark.usefixtures("shown")
def test_pictures_come_in_every_form_and_nothing_in_them_can_run(built: Built) -> None:
    client = signed_in(study=built.study)
    for name, theme in (("mean-consistency", "light"), ("position", "dark")):
        response = client.get(chart_path(f"{name}.svg", theme=theme))
        assert response["Content-Type"] == "image/svg+xml"
        assert response["Content-Security-Policy"] == "default-src 'none'; sandbox"
        assert response["X-Content-Type-Options"] == "nosniff"
        ElementTree.fromstring(body(response))
    for form, kind, begins in (
        ("png", "image/png", b"\x89PNG"),
        ("pdf", "application/pdf", b"%PDF"),
        ("json", "application/json", b'{"$schema": "https://vega.github.io/schema/vega-lite/'),
    ):
        response = client.get(chart_path(f"mean-consistency.{form}"))
        assert response["Content-Type"] == kind
        assert response.content.startswith(begins)
    rows = csv.DictReader(body(client.get(chart_path("position.csv"))).splitlines())
    assert [(row["name"], row["series"], row["value"]) for row in rows] == [
        ("direct", "", "1.0"),
        ("people", "", "0.3333333333333333"),
    ]
    assert body(client.get(chart_path("ratings.csv"))).splitlines() == ["text", "Nothing to draw yet"]  # two systems


@pytest.mark.usefixtures("shown")
@pytest.mark.parametrize(
    "path",
    [
        pytest.param(chart_path("mean-consistency.svg", theme="neon"), id="theme"),
        pytest.param(chart_path("mean-consistency.svg", width="poster"), id="width"),
        pytest.param(chart_path("mean-consistency.svg", dataset="other"), id="configuration"),
        pytest.param(chart_path("nonsense.svg"), id="name"),
        pytest.param(chart_path("mean-consistency.gif"), id="form"),
        pytest.param("/studies/shown/export/people.csv", id="export"),
    ],
)
def test_what_does_not_exist_is_not_found(built: Built, path: str) -> None:
    assert signed_in(study=built.study).get(path).status_code == 404


def test_queries_of_the_page_do_not_grow_with_ratings(built: Built, django_assert_max_num_queries: Any) -> None:
    client = signed_in(study=built.study)
    rate(built, 0, "abe", [1, 0])  # so that no findings are kept
    with django_assert_max_num_queries(80) as few:
        client.get("/studies/shown/findings/")
    for code in ("cem", "dia", "eli"):
        rate(built, 0, code, [1, 0])
        rate(built, 1, code, [1, 0])
    with django_assert_max_num_queries(len(few)):
        client.get("/studies/shown/findings/")


def test_a_study_of_many_configurations_is_shown_page_by_page(client: Client) -> None:
    systems = [f"system-{number}" for number in range(6)]  # 15 configurations
    study = make_study("many", instances=1, k=1, systems=systems)
    client.force_login(make_user("reader", "researcher"))
    address = reverse("reporting:findings", args=[study.slug])

    first, second = (client.get(address, {"page": page}).content.decode() for page in (1, 2))

    assert first.count('id="configuration-') == 10
    assert second.count('id="configuration-') == 5
    assert "Page 2 of 2" in second
    assert "15 configurations, in detail" in first
