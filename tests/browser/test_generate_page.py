"""The page on which texts are sampled: axe finds nothing in any look, nothing is cut off, and an estimate comes at once."""

from collections.abc import Callable
from typing import Any

import pytest
from playwright.sync_api import Page, Route, expect

from annotation.core.reasons import reason
from judging.generation.prompt_templates import own_template
from judging.generation.services import Sampling, start_generating
from judging.models import GenerationRun
from tests.browser.test_accessibility import Inspection
from tests.browser.walk import release, step
from tests.judging.builders import make_endpoint, make_study

pytestmark = pytest.mark.any_engine

LONG = "averylongnamewithoutanyblankinit" * 4


@pytest.mark.weekly
def test_sampling_page_is_accessible(open_as: Callable[..., Page]) -> None:
    study: Any = make_study()
    endpoint = make_endpoint("http://127.0.0.1:9/v1")  # may not be asked, which the page then says
    template = own_template(f"{LONG}\n$source")
    sampling = Sampling(endpoint=endpoint, template=template, system_prompt=LONG, params={"stop": [LONG]})
    start_generating(study, LONG, sampling)
    left_out = [{"instance": LONG, "why": reason("refused", why=LONG).stored()}]
    GenerationRun.objects.update(left_out=left_out, left_out_count=1, calls=3, cut=1, message=f"ended: {LONG}")
    inspection = Inspection()
    page = open_as("rea", "researcher")
    page.goto(f"/studies/{study.slug}/generate/")
    page.get_by_label("System", exact=True).fill("owl-0.5")
    page.get_by_label("Endpoint", exact=True).select_option("stand-in")
    page.get_by_label("Texts of each instance").fill("2")
    page.get_by_label("Temperature").fill("0.7")
    page.get_by_label("Temperature").press("Tab")
    expect(page.locator("#start .notice")).to_contain_text("6 calls; stored already: 0 answers.")
    for summary in page.locator("main summary").all():
        if summary.is_visible():
            summary.click()
    inspection.look(page, "generate")
    page.get_by_role("button", name="Start").click()
    expect(page.locator("#systems")).to_contain_text("owl-0.5")
    expect(page.locator("#systems")).to_contain_text("may not be asked: its host is not public")
    page.goto(f"/studies/{study.slug}/instances/{study.instances.earliest('pk').pk}/")
    inspection.look(page, "instance")
    assert not inspection.found, inspection.found

    page.goto(f"/studies/{study.slug}/generate/")
    with step("what is typed while an estimate is on its way stays"):
        held: list[Route] = []
        page.route("**/generate/estimate/", lambda route: held.append(route))
        page.get_by_label("System", exact=True).fill("owl-0.5")
        page.get_by_label("Endpoint", exact=True).select_option("stand-in")
        seed = page.get_by_label("Seed", exact=True)
        page.evaluate("document.addEventListener('htmx:afterRequest', () => (document.title = 'answered'))")
        seed.fill("7")
        release(page, held)
        expect(page).to_have_title("answered")
        expect(seed).to_have_value("7")
        page.unroute("**/generate/estimate/")
        seed.press("Tab")
        expect(page.locator("#start .notice")).to_contain_text("stored already: 0 answers.")
        expect(page.get_by_label("Seed", exact=True)).to_have_value("7")
