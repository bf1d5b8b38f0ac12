"""The pages about several systems: axe finds nothing in any look, and one goes from the leaderboard to a judge's contradictions."""

from collections.abc import Callable

import pytest
from playwright.sync_api import Page, expect

from tests.browser.test_accessibility import Inspection
from tests.reporting.builders import rate
from tests.reporting.logic.test_audit import in_order, let_judge
from tests.reporting.refinement.test_repair import build_four_systems

pytestmark = pytest.mark.any_engine


@pytest.mark.weekly
def test_leaderboard_and_audit_are_accessible(open_as: Callable[..., Page]) -> None:
    study, built = build_four_systems(instances=3)
    let_judge(study, built, in_order() | {("one", "three"): "three"}, negated=in_order(), repeats=2)
    for one in built.values():
        rate(one, 0, "ann", [-1])
    inspection = Inspection()
    page = open_as("rea", "researcher")
    page.goto(f"/studies/{study.slug}/findings/")
    page.get_by_role("link", name="Leaderboard").first.click()
    expect(page.get_by_role("heading", name="People", exact=True)).to_be_visible()
    page.evaluate("document.querySelectorAll('main details').forEach((fold) => { fold.open = true })")
    inspection.look(page, "leaderboard")
    page.get_by_role("link", name="Logical consistency", exact=True).click()
    expect(page.get_by_role("heading", name="Test a judge")).to_be_visible()
    inspection.look(page, "audit")
    page.locator('main a[href*="rater=judge"]').first.click()
    expect(page.locator("details.disagreement").first).to_be_visible()
    page.locator("details.disagreement summary").first.click()
    inspection.look(page, "contradictions")
    assert not inspection.found, inspection.found
