"""The two-stage page: first votes closed, then pair by pair the table, keep or revise, with a reason."""

import re
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

from django.contrib.auth import get_user_model
from playwright.sync_api import Locator, Page, Route, expect

from annotation.importing.tables import import_tables
from annotation.members.accounts import grant_role, login_link
from annotation.models import Assignment, Flag, Rating, Study
from tests.browser import walk
from tests.browser.walk import release, step
from tests.factories import json_lines, make_batch, make_study

OpenAs = Callable[..., Page]

WIDTH = "document.documentElement.scrollWidth"


def table(instance: int, pair: int) -> dict[str, Any]:
    """Write a table whose cells name the pair that it is about."""
    about = f"of pair {instance}/{pair}"
    rows = [
        {"aspect": "Detail", "only_a": f"names {about}", "both": f"dates {about}", "only_b": ""},
        {"aspect": "Tone", "only_a": "", "both": "", "only_b": f"friendly {about}"},
    ]
    names = {"instance_id": f"news-{instance}", "system_a": "alpha", "system_b": "beta", "pair_index": pair}
    return {"table_id": f"t-{instance}-{pair}", **names, "variant": "c8", "rows": rows}


def two_stage_study(arm: str, *, raters: int = 1, **settings: Any) -> Study:
    """Make a study of one arm: two instances of two pairs, with a table for each pair, and a HIT for each instance."""
    study = make_study(instances=2, k=2, protocol="two-stage", arms=[arm], **settings)
    tables = [table(instance, pair) for instance in (1, 2) for pair in (0, 1)]
    import_tables(data=json_lines(tables), name="tables.jsonl", slug="study")
    make_batch(study, pairs=2, raters=raters)
    return study


def stored(stage: str) -> list[str]:
    """Return the choices of one stage on the server, in the order of the page."""
    ratings = Rating.objects.filter(stage=stage).select_related("display").order_by("display__position")
    return [rating.choice for rating in ratings]


def second(page: Page) -> Locator:
    """Return the form of the pair that the second stage is at."""
    return page.locator("form[data-second]")


def at_second_stage(page: Page, first: tuple[str, str] = ("left", "right")) -> None:
    """Rate both pairs and close the first votes."""
    walk.begin(page)
    walk.rate(page, first)
    walk.lock(page)


def test_tables_are_shown_after_the_first_votes(open_as: OpenAs) -> None:
    two_stage_study("table:c8")
    page = walk.begin(open_as("ann", "annotator"))
    hit = page.url
    save, submit = page.get_by_role("button", name="Save and continue"), page.locator("[data-action=submit]")
    with step("first votes are closed to a page that is still open"):
        walk.rate(page, ["left", "right"])
        expect(submit).to_have_count(0)
        other = page.context.new_page()
        other.goto(hit)
        walk.lock(other)
        other.close()
        expect(walk.choose(page, 0, "right")).to_contain_text("The first choices of this HIT are closed")
        assert walk.on_server(page) == {0: "left", 1: "right"}
        page.reload()

    place = Assignment.objects.get().hit.matchup.instance.position + 1
    with step("the table is of its pair, on the sides of the page, and nothing is chosen beforehand"):
        told = page.get_by_role("table", name="Comparison of the two texts of pair 1")
        expect(told).to_contain_text(f"of pair {place}/")
        expect(told.get_by_role("columnheader")).to_have_text(
            ["Aspect", "Only Left", "Both", "Only Right", "Report"], use_inner_text=True
        )
        expect(told.get_by_role("rowheader")).to_have_text(["Detail", "Tone"])
        expect(second(page).get_by_label("Keep: Left")).to_have_value("left")
        expect(second(page).locator(":checked")).to_have_count(0)
    with step("a row is flagged, and the flag is taken back"):
        flag = page.get_by_role("button", name="Not supported by the texts: Tone")
        expect(flag).to_have_attribute("aria-pressed", "false")
        flag.click()
        expect(flag).to_have_attribute("aria-pressed", "true")
        expect(flag).to_be_focused()
        stored_flag = Flag.objects.get()
        assert (stored_flag.row, stored_flag.kind, stored_flag.taken_back_at) == (1, "unsupported-row", None)
        page.reload()
        expect(flag).to_have_attribute("aria-pressed", "true")
        flag.click()
        expect(flag).to_have_attribute("aria-pressed", "false")
        assert Flag.objects.get().taken_back_at is not None

    with step("a second vote waits offline with its reason, and survives a reload"):
        page.route("**/second/", lambda route: route.abort())
        second(page).get_by_label("Change to: Right").check()
        second(page).get_by_label("Reason").fill(walk.REASON)
        save.click()
        expect(second(page).locator(".saved")).to_contain_text("Waiting")
        page.goto(hit)
        expect(second(page).locator(".saved")).to_contain_text("Waiting")
        expect(second(page).get_by_label("Reason")).to_have_value(walk.REASON)
        expect(second(page).get_by_label("Change to: Right")).to_be_checked()
        page.unroute("**/second/")
        expect(page.locator(".decision").first).to_contain_text(walk.REASON)
        expect(page.locator(".decision").first).to_contain_text("from Left to Right", use_inner_text=True)
        assert walk.on_server(page, "revised") == {0: "right"}
    with step("a decision can be looked at again"):
        page.get_by_role("link", name="Look again").click()
        expect(page.get_by_role("table", name="pair 1")).to_be_visible()
        expect(second(page).get_by_label("Change to: Right")).to_be_checked()
        expect(second(page).get_by_label("Reason")).to_have_value(walk.REASON)
        second(page).get_by_label("Keep: Left").check()
        save.click()
        expect(page.locator(".decision").first).to_contain_text("You kept your choice: Left.", use_inner_text=True)
        expect(page.get_by_role("region", name="Comparison of the two texts of pair 2")).to_be_focused()
        assert walk.on_server(page, "revised") == {0: "left"}
    with step("the end is where the focus goes"):
        walk.decide(page, "none")
        expect(submit).to_be_focused()
        assert walk.on_server(page, "revised") == {0: "left", 1: "none"}
        walk.submit_to(page, 2)
        revised = Rating.objects.filter(stage="revised").order_by("display__position")
        assert [(one.reason, one.table_id is None) for one in revised] == [(walk.REASON, False)] * 2
        assert all(one.wall_seconds is not None and one.active_seconds is not None for one in revised)

    with step("no stage is wider than a phone"):
        Study.objects.update(label_left="A label of forty characters to the left.")
        page.set_viewport_size({"width": 360, "height": 740})
        page.reload()
        assert page.evaluate(WIDTH) <= 360
        walk.rate(page, ["left", "right"])
        walk.lock(page)
        assert page.evaluate(WIDTH) <= 360
        box = page.get_by_role("region", name="Comparison")
        assert box.evaluate("box => box.scrollWidth <= box.clientWidth")  # nothing is off its side
        walk.decide(page, "right")
        assert page.evaluate(WIDTH) <= 360


def test_reasons_are_kept_and_keys_lead_on(open_as: OpenAs, live_server: Any) -> None:
    two_stage_study("table:c8", raters=2, reason_min_length=12)
    page = open_as("ann", "annotator")
    at_second_stage(page)
    hit = page.url
    reason, save = second(page).get_by_label("Reason"), page.get_by_role("button", name="Save and continue")
    with step("a reason is kept before it is saved"):
        expect(second(page)).to_contain_text("12 characters or more")
        reason.fill("Half of a th")
        page.reload()
        expect(reason).to_have_value("Half of a th")
        reason.fill("")
    with step("a change without a reason is not sent"):
        second(page).get_by_label("Change to: Right").check()
        save.click()  # the browser itself asks for it
        expect(reason).to_have_js_property("validity.valueMissing", True)
        assert walk.on_server(page, "revised") == {}
    with step("a short one is refused and kept, and the focus goes to what is wrong"):
        reason.fill("short   " + " " * 10)  # long enough only by its blanks
        expect(second(page)).to_contain_text("So far: 5.")
        save.press("Enter")
        problem = second(page).get_by_role("alert")
        expect(problem).to_contain_text("in 12 characters or more")
        expect(problem).to_be_focused()
        expect(second(page).get_by_label("Change to: Right")).to_be_checked()
        expect(reason).to_have_value(re.compile("^short"))
        expect(reason).to_have_accessible_description(re.compile("in 12 characters or more"))
        page.keyboard.press("Shift+Tab")
        expect(reason).to_be_focused()
        assert [draft.strip() for draft in drafts(page)] == ["short"]
        assert walk.on_server(page, "revised") == {}
    with step("one that is saved is no longer kept"):
        reason.fill("It is shorter.")
        save.click()
        expect(page.locator(".decision").first).to_contain_text("It is shorter.")
        assert walk.on_server(page, "revised") == {0: "right"}
        assert drafts(page) == []

    with step("it is kept for its writer only"):
        reason.fill("What Ann alone thinks")
        sign_in(page, live_server.url, "ben")
        walk.begin(page)
        walk.rate(page, ["left", "left"])
        walk.lock(page)
        for decided in (1, 2):  # the same pairs
            expect(reason).to_have_value("")
            assert drafts(page) == []
            second(page).get_by_label("Keep: Left").check()
            save.click()
            expect(page.locator(".card.decided")).to_have_count(decided)
        of_ben = Rating.objects.filter(stage="revised", display__assignment__annotator__user__username="ben")
        assert {one.reason for one in of_ben} == {""}
        sign_in(page, live_server.url, "ann")
        page.goto(hit)
        expect(reason).to_have_value("")
        walk.decide(page, "left")
        walk.submit_to(page, 2)

    lock, submit = page.locator("[data-action=lock]"), page.locator("[data-action=submit]")
    with step("keys lead through the first stage"):
        for place, key in enumerate("13"):
            page.keyboard.press(key)
            page.keyboard.press("Enter")
            expect(walk.pair(page, place).locator(".saved")).to_contain_text("Saved at")
        expect(lock).to_be_focused()
        page.keyboard.press("Enter")
        expect(second(page)).to_be_visible()
    with step("and wait while the second one moves on"):
        page.clock.install()
        page.clock.pause_at(datetime.now(UTC) + timedelta(minutes=1))  # else a slow machine sees the choice wait
        held: list[Route] = []
        page.route("**/second/", lambda route: route.continue_() if held else held.append(route))
        for key in ("1", "Enter", "1"):
            page.keyboard.press(key)
        expect(second(page).get_by_label("Keep: Left")).to_be_checked()
        release(page, held)
        expect(page.locator(".card.decided")).to_have_count(1)
        expect(second(page).get_by_label("Change to: Left")).to_be_checked()
        page.clock.resume()
    with step("what is typed into the reason chooses nothing"):
        page.keyboard.press("Tab")
        expect(reason).to_be_focused()
        page.keyboard.type("1 and 3 are typed here, and choose nothing.")
        expect(second(page).get_by_label("Change to: Left")).to_be_checked()
        page.keyboard.press("Tab")
        page.keyboard.press("Enter")
        expect(submit).to_be_focused()
        assert walk.on_server(page) == {0: "left", 1: "right"}
        assert walk.on_server(page, "revised") == {0: "left", 1: "left"}
        page.keyboard.press("Enter")
        expect(page.locator("h1")).to_have_text("Thank you!")


def drafts(page: Page) -> list[str]:
    """Return the reasons that this tab keeps."""
    kept: dict[str, str] = page.evaluate("({...sessionStorage})")
    return [text for name, text in kept.items() if "reason" in name]


def sign_in(page: Page, address: str, name: str) -> None:
    """Sign a user in, in the same tab."""
    grant_role(username=name, role="annotator")
    walk.sign_in(page, login_link(user=get_user_model().objects.get(username=name), base_url=address))
