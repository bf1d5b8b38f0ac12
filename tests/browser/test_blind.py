"""What reaches a rater's browser during a whole HIT, to the last byte: it tells nothing of who wrote what."""

import re
from collections.abc import Callable
from typing import Any
from zlib import crc32

import pytest
from playwright.sync_api import Page, expect

from annotation.models import ComparisonTable, Pair, Study
from tests.browser import walk
from tests.browser.real_server import RealServer
from tests.browser.recorder import Recorder
from tests.factories import add_instances, instance_rows, make_batch, make_study

pytestmark = pytest.mark.any_engine

OpenAt = Callable[..., Page]

PAIRS = 3
# Words that stand nowhere else: wherever one of them turns up, it was let out.
SYSTEMS = ("Quokka-7b", "Wombat-70b-Instruct")
DATASET, BATCH, SLUG, TITLE, VARIANT = "numbatset", "bandicoots", "platypus-study", "Echidna title", "kowari"
SECRETS = (*SYSTEMS, DATASET, BATCH, SLUG, TITLE, VARIANT, "bilby-instance", "dunnart-table", "potoroo", "glider-note")
ASPECT = "Quenda"  # of every table: what a rater sees once a table is shown, and not before


def texts(name: str) -> list[str]:
    """Return a system's texts, which do not tell its name."""
    return [f"Text {crc32(f'{name} {k}'.encode())}." for k in range(PAIRS)]


def secret_study(*arms: str) -> Study:
    """Make a study that holds a secret under every name there is, with HITs of three pairs for one rater."""
    two_stage: dict[str, Any] = {"protocol": "two-stage", "arms": list(arms)} if arms else {}
    study = make_study(SLUG, instances=0, title=TITLE, **two_stage)
    rows = instance_rows(instances=2, k=PAIRS, systems=SYSTEMS, dataset=DATASET, prefix="bilby-instance")
    for row in rows:  # whose texts name the instance otherwise
        row.generations.update({name: texts(name) for name in SYSTEMS})
        row.metadata["note"] = "glider-note"
        object.__setattr__(row, "source", "A source text.")
    add_instances(study, rows)
    ComparisonTable.objects.bulk_create(
        ComparisonTable(
            study=study,
            table_id=f"dunnart-table-{pair.pk}",
            pair=pair,
            variant=VARIANT,
            rows=[{"aspect": ASPECT, "only_a": "longer", "both": "clear", "only_b": "shorter"}],
            made_by={"judge": "potoroo"},
        )
        for pair in Pair.objects.filter(matchup__instance__study=study)
    )
    make_batch(study, name=BATCH, dataset=DATASET, systems=SYSTEMS, pairs=PAIRS, raters=1)
    return study


@pytest.fixture
def recorder(real_server: RealServer) -> Any:
    """Keep what the browser is sent."""
    with Recorder(real_server.port) as recorder:
        yield recorder


def secrets_told(page: Page, recorder: Recorder) -> list[str]:
    """Look for every secret in all that the browser was sent, in its cookies, and in what it keeps."""
    kept = page.evaluate("JSON.stringify([{...localStorage}, {...sessionStorage}, document.cookie])")
    everything = recorder.received.decode("utf-8", "replace") + str(page.context.cookies()) + kept
    assert everything.count("HTTP/1.1 ") > 10
    assert "Content-Encoding" not in everything  # else it could not be read
    return [secret for secret in (*SECRETS, "placebo") if secret.lower() in everything.lower()]


def make_mistakes(page: Page) -> None:
    """Do what is answered by refusals: unknown pair and choice, the second stage too early, a stranger's HIT."""
    hit = page.url
    form = {"csrfmiddlewaretoken": page.locator("[name=csrfmiddlewaretoken]").first.input_value()}
    key = walk.pair(page, 0).get_attribute("data-pair")
    statuses = {
        answer.status
        for answer in (
            page.request.post(f"{hit}vote/", form={**form, "pair_key": "unknown", "choice": "left"}),
            page.request.post(f"{hit}vote/", form={**form, "pair_key": key, "choice": "both"}),
            page.request.post(f"{hit}second/", form={**form, "pair_key": key, "choice": "left", "reason": ""}),
            page.request.post(f"{hit}flag/", form={**form, "pair_key": key, "row": "0"}),
            page.request.post(f"{hit}submit/", form=form),
            page.request.post(f"{hit}vote/", form={"pair_key": key}),
            page.request.get(f"{hit[:-4]}xyz/"),
            page.request.get("/studies/"),
        )
    }
    assert statuses == {403, 404, 409, 422}


def report_a_problem(page: Page) -> None:
    """Flag the pair that is first on the page, and look at the form for giving a HIT back."""
    report = page.locator("[id^=report-]").first
    report.locator("summary").click()
    report.locator("input[value=other]").check()
    report.get_by_role("button", name="Report").click()
    expect(page.locator(".reported").first).to_contain_text("Something else")
    hit = page.url
    page.goto(f"{hit}return/")
    page.goto(hit)


def look_around(page: Page) -> None:
    """Open every other page that a rater may."""
    page.goto("/rate/progress/")
    page.get_by_role("link", name="Withdraw").first.click()
    page.goto("/rate/")


@pytest.mark.parametrize(
    "javascript", [True, pytest.param(False, marks=pytest.mark.weekly)], ids=["javascript", "plain"]
)
def test_a_whole_hit_in_one_stage_tells_nothing(
    open_at: OpenAt, real_server: RealServer, recorder: Recorder, javascript: bool
) -> None:
    secret_study()
    page = open_at(recorder.url, "ann", "annotator", by_link=True, java_script_enabled=javascript)
    page.get_by_role("button", name="I agree, begin").click()
    expect(page).to_have_url(re.compile("/rate/hit/"))
    make_mistakes(page)
    if javascript:
        report_a_problem(page)
        walk.rate(page, ["left", "none", "right"])
    else:
        for place, choice in enumerate(["left", "none", "right"]):
            walk.choose(page, place, choice)
            walk.pair(page, place).get_by_role("button", name="Save this choice").click()
    walk.submit(page)
    expect(page).to_have_url(re.compile("/rate/hit/"))  # the next one
    look_around(page)
    assert secrets_told(page, recorder) == []


@pytest.mark.parametrize("kind", ["table", pytest.param("placebo", marks=pytest.mark.weekly)])
def test_a_whole_hit_in_two_stages_tells_nothing(
    open_at: OpenAt, real_server: RealServer, recorder: Recorder, kind: str
) -> None:
    secret_study(f"{kind}:{VARIANT}")
    page = walk.begin(open_at(recorder.url, "ann", "annotator"))
    make_mistakes(page)
    walk.rate(page, ["left", "none", "right"])
    assert ASPECT.encode() not in recorder.received  # nothing of a table before the first votes are closed
    walk.lock(page)
    assert ASPECT.encode() in recorder.received
    report_a_problem(page)
    page.get_by_role("button", name="Not supported by the texts").first.click()
    expect(page.locator("[aria-pressed=true]")).to_have_count(1)
    for choice in ("left", "left", "left"):
        walk.decide(page, choice)
    walk.submit(page)
    look_around(page)
    assert secrets_told(page, recorder) == []


def test_a_secret_that_is_let_out_is_found(open_at: OpenAt, real_server: RealServer, recorder: Recorder) -> None:
    study = secret_study()
    Study.objects.filter(pk=study.pk).update(question=f"Is it {SYSTEMS[0]}?", contact=f"{SLUG}@example.org")
    page = walk.begin(open_at(recorder.url, "ann", "annotator"))
    assert secrets_told(page, recorder) == [SYSTEMS[0], SLUG]
