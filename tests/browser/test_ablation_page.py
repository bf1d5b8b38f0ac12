"""The page of ways of judging side by side: axe finds nothing in any look, and an estimate comes before the start."""

from collections.abc import Callable

import pytest
from playwright.sync_api import Page, expect

from judging.ablation.judge_configurations import JudgeConfiguration, sc2
from judging.ablation.judges import judge_of
from judging.models import JudgeRun, Judgment
from tests.browser.test_accessibility import Inspection
from tests.judging.builders import make_endpoint, make_study, pairs_in


@pytest.mark.weekly
def test_ways_of_judging_are_accessible(open_as: Callable[..., Page]) -> None:
    study, endpoint = make_study(), make_endpoint()
    study.instances.update(gold={"better": "heron"})
    for status, one in (("done", JudgeConfiguration("direct")), ("running", sc2(1)), ("queued", sc2(8))):
        judge = judge_of(one, endpoint=endpoint, rounds=2, seed=1, aspects=None)
        judge.save()
        run = JudgeRun.objects.create(study=study, judge=judge, status=status)
        Judgment.objects.bulk_create(
            Judgment(run=run, pair=pair, order="ab", repeat=repeat, status="parsed", verdict=1 - 2 * (place % 2))
            for place, pair in enumerate(pairs_in(study))
            for repeat in range(2)
        )
    inspection = Inspection()
    page = open_as("rea", "researcher")
    page.goto(f"/studies/{study.slug}/ablation/")
    inspection.look(page, "ablation")
    page.get_by_role("main").get_by_role("button", name="Ask for more").click()
    page.get_by_label("Rounds").fill("1")
    page.get_by_role("button", name="Estimate calls and cost").click()
    expect(page.locator("#start [role=status]")).to_contain_text("calls")
    expect(page.get_by_role("button", name="Start", exact=True)).to_be_visible()
    inspection.look(page, "estimate")
    assert not inspection.found, inspection.found
