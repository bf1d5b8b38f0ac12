"""Tables that a model made, in a rater's second stage: each cell beside the text that it speaks of."""

import re
from collections.abc import Callable
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from annotation.importing.formats.study_file import InstanceRow
from annotation.models import Assignment, ComparisonTable, Display, Rating
from judging.models import TableMaking
from tests.browser import walk
from tests.factories import add_instances, make_batch, make_study
from tests.judging.builders import make_endpoint
from tests.standin.process import running

OpenAs = Callable[..., Page]
WORDS = (("heron", "wren"), ("magpie", "plover"))


def make_tables(page: Page) -> None:
    """Make four tables of each pair, as a researcher does: see what it takes, then start."""
    page.goto("/studies/study/tables/make/")
    page.get_by_label("Tables per pair").fill("4")
    page.get_by_role("button", name="Estimate calls and cost").click()
    expect(page.get_by_role("status").filter(has_text="calls")).to_contain_text("16 calls")  # (4 + 3 + 1) for each of 2
    assert not ComparisonTable.objects.exists()
    page.get_by_role("button", name="Start", exact=True).click()
    expect(page).to_have_url(re.compile("/judges/runs/"))


@pytest.mark.weekly
def test_rater_sees_a_made_table_on_the_sides_of_its_texts(open_as: OpenAs, settings: Any) -> None:
    settings.ENDPOINT_ALLOWLIST = ["127.0.0.1"]
    texts = [[f"The {word} waits by the water." for word in words] for words in zip(*WORDS, strict=True)]
    row = InstanceRow(1, "news-1", "news", "A source about birds.", {"alpha": texts[0], "beta": texts[1]})
    study = add_instances(make_study(instances=0, protocol="two-stage", arms=["table:c4"]), [row])
    with running() as standin:
        make_endpoint(standin.base_url)
        make_tables(open_as("rea", "researcher"))
    assert ComparisonTable.objects.filter(variant="c4").count() == TableMaking.objects.count() == 2
    make_batch(study, pairs=2, raters=1)
    page = walk.begin(open_as("ann", "annotator"))
    walk.rate(page, ["left", "left"])
    assert "grade" not in page.content()  # nothing of a table before the first votes are closed
    walk.lock(page)
    for place in (0, 1):
        display = Display.objects.select_related("pair").get(assignment=Assignment.objects.get(), position=place)
        left, right = WORDS[display.pair.index] if display.a_is_left else WORDS[display.pair.index][::-1]
        table = page.get_by_role("table", name=f"Comparison of the two texts of pair {place + 1}")
        cells = table.get_by_role("row").nth(1).get_by_role("cell")
        expect(cells.nth(0)).to_have_text(left)
        expect(cells.nth(1)).to_contain_text("waits by the water")
        expect(cells.nth(2)).to_have_text(right)
        expect(table.get_by_role("rowheader")).to_have_count(5)
        assert "alpha" not in page.content()
        assert "sc2" not in page.content()
        walk.decide(page, "right")
    walk.submit(page)
    revised = Rating.objects.for_question(0).filter(stage="revised", table__variant="c4")
    assert revised.count() == 2
