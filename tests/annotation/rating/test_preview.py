"""The preview: a HIT's page as its rater would see it, of which nothing is recorded, and which can't be used."""

import re
from collections.abc import Iterator

import pytest
from django.apps import apps
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from annotation.batches.services import set_batch_status
from annotation.models import Batch, Pair, Study
from annotation.templatetags.disable_controls import disable_controls
from tests.factories import (
    add_instances,
    add_tables,
    claim,
    make_annotator,
    make_batch,
    make_study,
    signed_in,
)

pytestmark = [pytest.mark.django_db, pytest.mark.slow]
SYSTEMS = ("secret-alpha", "secret-beta")


@pytest.fixture
def study() -> Study:
    study = make_study(instances=0, ties_allowed=True, contact="me@example.org")
    return add_instances(study, instances=4, k=3, systems=SYSTEMS)


@pytest.fixture
def batch(study: Study) -> Batch:
    return make_batch(study, name="secret-batch", systems=SYSTEMS, pairs=3, status="draft")


def address(batch: Batch, query: str = "") -> str:
    return reverse("annotation:batch-preview", args=[batch.study.slug, batch.pk]) + query


def counts() -> dict[str, int]:
    """Rows of every table; a session is no record of anything seen."""
    models = [model for model in apps.get_models() if model._meta.app_label != "sessions"]
    return {model._meta.label: model._base_manager.count() for model in models}


def page_of_the_rater(html: str) -> str:
    """Return the part that is the rater's."""
    return html[html.index('class="hit-head"') : html.index("</main>")]


def controls(html: str) -> Iterator[str]:
    return (found.group() for found in re.finditer(r"<(?:button|input|select|textarea)\b[^>]*>", html))


def test_a_preview_shows_the_texts_of_the_hit_and_records_nothing(researcher: Client, batch: Batch) -> None:
    before = counts()
    hit = batch.hits.get(position=1)

    response = researcher.get(address(batch, "?hit=2"))

    assert response.status_code == 200
    assert "Preview: nothing is recorded." in response.text
    assert hit.matchup.instance.source in response.text
    for pair in hit.pairs.all():
        assert pair.generation_a.text in response.text
        assert pair.generation_b.text in response.text
    assert "HIT 2" in response.text
    assert "me@example.org" in response.text
    assert "secret" not in response.text  # no system, no batch
    assert counts() == before


def test_nothing_of_a_preview_can_be_sent(researcher: Client, batch: Batch) -> None:
    html = researcher.get(address(batch)).text
    page = page_of_the_rater(html)

    assert page.count("<form") >= 7  # three votes, three reports, the end of the HIT
    assert not re.search(r"\s(hx-\w+|action|method|formaction|onclick)=", page)
    usable = [one for one in controls(page) if " disabled" not in one]
    assert [re.findall(r'id="([^"]+)"', one) for one in usable] == [["tool-differences"], ["tool-size"]]
    assert {link[0] for link in re.findall(r'href="([^"]*)"', page)} == {"#"}
    assert "csrfmiddlewaretoken" in page  # of no use without a form that sends it
    assert "rate.js" not in html
    assert "outbox.js" not in html


def test_a_preview_is_the_raters_page(study: Study, researcher: Client, batch: Batch) -> None:
    preview = page_of_the_rater(researcher.get(address(batch)).text)
    set_batch_status(batch=batch, status="open")
    annotator = make_annotator(study)
    assignment = claim(annotator, timezone.now())
    assert annotator.user is not None
    real = page_of_the_rater(signed_in(annotator.user).get(f"/rate/hit/{assignment.key}/").text)

    def plain(html: str) -> list[str]:
        words = re.sub(r"Text \d+ on news-\d\.|Source of news-\d\.|\d\d:\d\d", "…", re.sub(r"<[^>]*>", " ", html))
        return words.split()

    assert plain(preview) == plain(real)


def test_the_second_stage_shows_the_table_of_the_arm_on_the_sides_of_the_page(study: Study, researcher: Client) -> None:
    Study.objects.update(protocol="two-stage", arms=["none", "table:c8", "placebo:c8"])

    def rows(pair: Pair) -> list[dict[str, str]]:
        name = pair.matchup.instance.instance_id
        return [{"aspect": name, "only_a": f"A of {pair.pk}", "both": "both", "only_b": f"B of {pair.pk}"}]

    add_tables(study, rows=rows)
    batch = make_batch(Study.objects.get(), systems=SYSTEMS, pairs=3)
    before = counts()
    instance = batch.hits.get(position=0).matchup.instance

    first = researcher.get(address(batch)).text
    shown = researcher.get(address(batch, "?arm=table:c8")).text
    placebo = researcher.get(address(batch, "?arm=placebo:c8")).text
    bare = researcher.get(address(batch, "?arm=none")).text

    assert "Lock my choices and continue" in first
    assert "only_a" not in first
    assert f'<th scope="row" role="rowheader" dir="auto" translate="no">{instance.instance_id}</th>' in shown
    assert 'Keep: <bdi><span class="if-beside">Left</span><span class="if-stacked">Top</span></bdi>' in shown
    assert (
        shown.count("This pair&#x27;s turn comes after the ones above it.")
        + shown.count("This pair's turn comes after the ones above it.")
        == 2
    )
    assert re.search(r'role="rowheader" dir="auto" translate="no">(news-\d)<', placebo)[1] != instance.instance_id  # type: ignore[index]
    assert "Look at the two texts once more." in bare
    left_text = re.search(
        r'<span class="if-beside">Left</span><span class="if-stacked">Top</span></bdi></h3>\s*<div class="text"[^>]*>([^<]*)<',
        shown,
    )
    only_left = re.search(r'data-label="Only Top">([AB]) of (\d+)<', shown)
    pair = Pair.objects.get(pk=only_left[2])
    side = pair.generation_a if only_left[1] == "A" else pair.generation_b
    assert left_text[1] == side.text
    assert " disabled" in next(one for one in controls(shown) if "data-save" in one)
    assert counts() == before


def test_a_qualification_is_previewed_as_practice(study: Study, researcher: Client) -> None:
    study.instances.update(gold={"better": SYSTEMS[0], "why": "hush"})
    batch = make_batch(study, systems=SYSTEMS, purpose="qualification")

    text = researcher.get(address(batch)).text

    assert "Practice 1 of 4" in text
    assert "hush" not in text
    assert "Return this HIT" not in text


@pytest.mark.parametrize("query", ["?hit=0", "?hit=5", "?hit=x", "?hit=-1", "?hit=99999999999999999999", "?hit=²", "?arm=none", "?arm=%00"])  # fmt: skip
def test_a_hit_or_an_arm_that_is_not_there_is_not_found(researcher: Client, batch: Batch, query: str) -> None:
    assert researcher.get(address(batch, query)).status_code == 404


def test_disabled_controls_look_the_same_and_send_nothing() -> None:
    html = (
        '<form action="/x" method="post" hx-post="/x" class="a"><input name="q" value="&quot;&lt;" required>'
        '<a href="/away">x</a><a href="#here">y</a><br/><p title="a > b">1 &lt; 2 &#39;&nbsp;</p>'
        "<script>evil()</script><iframe src='/x'></iframe><button id='k'>ok</button></form>"
    )

    assert disable_controls(html, usable=frozenset({"k"})) == (
        '<form class="a"><input name="q" value="&quot;&lt;" required disabled>'
        '<a>x</a><a href="#here">y</a><br/><p title="a &gt; b">1 &lt; 2 &#39;&nbsp;</p>'
        '<button id="k">ok</button></form>'
    )
