"""The pages of comparison tables: axe finds nothing in any look, nothing is cut off, and a table can be turned."""

from collections.abc import Callable

import pytest
from playwright.sync_api import Page, expect

from judging.models import JudgeRun, TableCheck
from tests.browser.test_accessibility import Inspection
from tests.judging.builders import fill, make_endpoint, make_judge, make_study, pairs_in
from tests.judging.tables.table_builders import exact_record, make_making, make_table, row

pytestmark = pytest.mark.any_engine

LONG = "They take the ferry at eight twenty and walk from the landing, " * 8


@pytest.mark.weekly
def test_comparison_tables_are_accessible(open_as: Callable[..., Page]) -> None:
    study = make_study()
    pairs = pairs_in(study)
    run = JudgeRun.objects.create(study=study, judge=make_judge("coin"))
    rows = [row("Content", "wren", "talk", LONG), row("Length", "", "text A", "none"), row("Tone", "talk", "", "wren")]
    table = make_table(pairs[0], rows, made_by={"judge": "judy", "calls": {"table": 8, "comparator": 7}})
    make_table(pairs[1], [row(only_a="x" * 200)], variant="c1")
    cells = [dict.fromkeys(("only_a", "both", "only_b"), 0.5)] * 3
    found = {
        "threshold": 0.5,
        "cells": cells,
        "n": 9,
        "missing": 0,
        "supported": 1.0,
        "support": 0.5,
        "coverage": 0.5,
        "sentences": 2,
    }
    TableCheck.objects.create(table=table, endpoint=make_endpoint(), model="some-model", found=found)
    make_making(fill(run, pairs[0], "ab", verdict=1), table)
    exact = fill(run, pairs[1], "ab", verdict=1)
    make_making(exact, **exact_record())
    inspection = Inspection()
    page = open_as("rea", "researcher")
    page.goto(f"/studies/{study.slug}/tables/")
    inspection.look(page, "tables")
    page.locator(f'#tables a[href$="/tables/{table.pk}/"]').click()
    expect(page.locator(".comparison").first).to_be_visible()
    for summary in page.locator("main summary").all():
        if summary.is_visible():
            summary.click()
    inspection.look(page, "table")
    heads = page.locator(".comparison").first.locator("thead th")
    expect(heads).to_have_text(["Aspect", "Only A", "Both", "Only B"])
    page.get_by_role("button", name="Turn: B on the left").click()
    expect(heads).to_have_text(["Aspect", "Only B", "Both", "Only A"])
    page.goto(f"/studies/{study.slug}/judgments/{exact.pk}/table/")
    inspection.look(page, "making")
    assert not inspection.found, inspection.found
