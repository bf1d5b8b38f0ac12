"""A study at MTurk, from the offer of its HITs to a worker who is paid, against the stand-in for MTurk."""

import re
from collections.abc import Callable
from decimal import Decimal
from html import escape
from typing import Any
from urllib.parse import parse_qs, urlencode, urlsplit

import pytest
from playwright.sync_api import Browser, BrowserContext, FrameLocator, Page, Route, expect

from tests.annotation.recruitment.mturk.server import MturkServer
from tests.annotation.recruitment.mturk.setup import SANDBOX, address, make_mturk, mturk
from tests.browser import walk
from tests.browser.walk import step
from tests.factories import make_batch, make_study, make_user

__all__ = ["mturk"]
OpenAs = Callable[..., Page]
WORKER = "AWORKER1"


class Window:
    """MTurk's page in a worker's browser: it frames the requester's page, and takes the form that this sends."""

    def __init__(self, context: BrowserContext, server: MturkServer) -> None:
        self.page, self._server, self._framed = context.new_page(), server, ""
        context.route(f"{SANDBOX}/**", self._answer)
        # Chromium keeps pages of the internet from this machine's servers; MTurk's frames one on the internet.
        context.grant_permissions(["local-network-access"], origin=SANDBOX)

    def show(self, framed: str) -> FrameLocator:
        """Open the window on a page of ours; returns the frame."""
        self._framed = framed
        self.page.goto(f"{SANDBOX}/projects/one/tasks")
        return self.page.frame_locator("iframe")

    def _answer(self, route: Route) -> None:
        sent = route.request.post_data
        if route.request.url == f"{SANDBOX}/mturk/externalSubmit" and sent:
            given = {name: values[0] for name, values in parse_qs(sent).items()}
            self._server.submit(given.pop("assignmentId"), **given)
            route.fulfill(content_type="text/html", body="<p>The HIT was submitted.</p>")
        else:
            frame = f'<iframe src="{escape(self._framed)}" allow="local-network-access" height="700"></iframe>'
            route.fulfill(content_type="text/html", body=f"<!DOCTYPE html><title>MTurk</title>{frame}")


@pytest.mark.weekly
def test_offer_preview_worker_and_pay(
    mturk: MturkServer, open_as: OpenAs, chromium: Browser, live_server: Any, settings: Any
) -> None:
    settings.BASE_URL = "https://rate.example.org"
    study = make_study(instances=2, k=1, question="Which one is kinder?", minutes_per_hit=2)
    make_batch(study, pairs=1, raters=1)
    channel = make_mturk(mturk, study=study, bonus_cap="1.00")
    make_user("mara", "study-admin", study=study)
    page = open_as("mara")

    with step("HITs are offered for both places"):
        page.goto(f"/studies/study/channels/{channel.key}/")
        expect(page.get_by_text("2 free places, on 2 HITs")).to_contain_text("cost 1.20 USD")  # 2 × (0.50 + 0.10)
        page.get_by_role("button", name="Offer HITs for all open places").click()
        expect(page.get_by_role("heading", name="While it runs")).to_be_visible()
        made = mturk.hits["3HIT00001"]
        assert [(hit["MaxAssignments"], Decimal(hit["Reward"])) for hit in mturk.hits.values()] == [
            (1, Decimal("0.50"))
        ] * 2
        external = re.search("<ExternalURL>([^<]+)</", made["Question"])
        assert external[1].startswith(settings.BASE_URL)

    worker = walk.open_context(chromium)
    window, framed = Window(worker, mturk), live_server.url + urlsplit(external[1]).path

    with step("a worker looks at it before accepting"):
        seen = address(worker="", hit=made["HITId"], assignment="ASSIGNMENT_ID_NOT_AVAILABLE")
        frame = window.show(f"{framed}?{urlencode(seen)}")
        expect(frame.get_by_text("Which one is kinder?").first).to_be_visible()
        assert not channel.submissions.exists()

    with step("accepts, and rates in a window of its own"):
        assignment = mturk.accept(made["HITId"], WORKER)
        frame = window.show(f"{framed}?{urlencode(address(WORKER, assignment, made['HITId']))}")
        with worker.expect_page() as opened:
            frame.get_by_role("button", name="Open the HIT").click()
        work = opened.value
        work.get_by_role("button", name="I agree, begin").click()
        walk.rate(work, ["left"])
        walk.submit(work)
        expect(work.get_by_role("main")).to_contain_text("MTurk")

    with step("hands the HIT in"):
        frame.get_by_role("button", name="Submit the HIT").click()  # it appears by itself
        expect(frame.get_by_text("The HIT was submitted.")).to_be_visible()
        assert mturk.assignments[assignment]["AssignmentStatus"] == "Submitted"
        worker.close()

    with step("the researcher sees it, approves it and pays a bonus"):
        page.get_by_role("button", name="Update from MTurk").click()
        row = page.get_by_role("row", name=re.compile(assignment))
        expect(row).to_contain_text("Submitted")
        row.get_by_role("checkbox").check()
        page.get_by_role("button", name="Approve", exact=True).click()
        expect(row).to_contain_text("Approved")
        assert mturk.assignments[assignment]["AssignmentStatus"] == "Approved"
        row.get_by_role("checkbox").check()
        page.get_by_label("Words for the workers", exact=True).fill("Careful work")
        page.get_by_label("Bonus in dollars", exact=True).fill("0.25")
        page.get_by_role("button", name="Pay a bonus").click()
        expect(page.get_by_role("status")).to_contain_text("1")
        assert [(one["WorkerId"], one["BonusAmount"], one["Reason"]) for one in mturk.bonuses] == [
            (WORKER, "0.25", "Careful work")
        ]

    with step("takes the other place down"):
        page.get_by_role("button", name="Take all HITs down").click()
        expect(page.get_by_text("places left: 0")).to_be_visible()
