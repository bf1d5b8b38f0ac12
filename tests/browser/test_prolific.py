"""A study at Prolific, from its draft to a participant who is paid, against the stand-in for Prolific."""

import re
from collections.abc import Callable
from decimal import Decimal
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.annotation.recruitment.prolific.server import DRAFT, ProlificServer
from tests.annotation.recruitment.prolific.setup import PID, SESSION, link, make_prolific, prolific
from tests.browser import walk
from tests.browser.walk import step
from tests.factories import make_batch, make_study, make_user

__all__ = ["prolific"]
OpenAs = Callable[..., Page]


@pytest.mark.weekly
def test_draft_publication_participant_and_pay(
    prolific: ProlificServer, open_as: OpenAs, chromium: Browser, live_server: Any, settings: Any
) -> None:
    settings.BASE_URL = "https://rate.example.org"
    study = make_study(instances=2, k=1, pay_per_hit=Decimal("0.75"), currency="GBP", minutes_per_hit=4)
    make_batch(study, pairs=1, raters=1)
    options = dict.fromkeys(
        ("study_id", "code_completed", "code_screened_out", "code_timed_out", "code_no_consent"), ""
    )
    channel = make_prolific(study, prolific, **options)
    make_user("mara", "study-admin", study=study)
    page = open_as("mara")

    with step("the draft"):
        page.goto(f"/studies/study/channels/{channel.key}/")
        page.get_by_label("Title for participants").fill("Which text is better?")
        page.get_by_label("Description for participants").fill("Read two texts and choose one.")
        page.get_by_role("button", name="Create the draft at Prolific").click()
        expect(page.get_by_role("status")).to_contain_text(DRAFT)
        [made] = prolific.studies.values()
        assert (made["total_available_places"], made["reward"]) == (2, 75)

    with step("published after a look at it"):
        publish = page.get_by_role("button", name="Publish the study")
        publish.click()
        assert made["status"] == "UNPUBLISHED"  # the tick is missing
        page.get_by_label("I have looked at the draft there").check()
        publish.click()
        expect(page.get_by_role("status")).to_contain_text("participants see it now")
        assert made["status"] == "ACTIVE"

    with step("a participant comes, rates, and gets the code"):
        prolific.add(SESSION, PID, study=DRAFT)
        participant = walk.open_context(chromium, base_url=live_server.url).new_page()
        participant.goto(link(channel, study=DRAFT))
        participant.get_by_role("button", name="I agree, begin").click()
        walk.rate(participant, ["left"])
        walk.submit(participant)
        channel.refresh_from_db()
        back = participant.get_by_role("button", name="Back to Prolific")
        expect(back).to_have_attribute("href", re.compile(f"cc={channel.options['code_completed']}$"))
        participant.context.close()
        prolific.submissions[SESSION]["status"] = "AWAITING REVIEW"

    with step("the researcher sees and approves"):
        page.get_by_role("button", name="Update from Prolific").click()
        row = page.get_by_role("row", name=re.compile(SESSION))
        expect(row).to_contain_text("AWAITING REVIEW")
        row.get_by_role("radio").check()
        page.get_by_role("button", name="Approve").click()
        expect(page.get_by_role("status")).to_contain_text("Approved.")
        assert prolific.submissions[SESSION]["status"] == "APPROVED"
        assert page.locator(".checks-list .badge[data-state=done]").count() >= 3
