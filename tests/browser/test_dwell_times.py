"""How long a rater is at each pair: by mouse, keys and touch, from the page's clock down to the stored rows."""

import time
from collections.abc import Callable, Sequence
from datetime import UTC, datetime, timedelta

import pytest
from django.utils import timezone
from playwright.sync_api import Page, ViewportSize, expect

from annotation.models import Assignment, Display, Rating, Study
from tests.browser import walk
from tests.browser.realistic import realistic_batch
from tests.browser.test_two_stages import two_stage_study
from tests.browser.walk import step

OpenAs = Callable[..., Page]

LAPTOP: ViewportSize = {"width": 1280, "height": 720}
PHONE: ViewportSize = {"width": 390, "height": 740}
DWELLS = [5.6, 5.5, 6.3]


def freeze(page: Page) -> Page:
    """Stop the clock of the pages that this tab opens; it moves only as far as `wait` moves it."""
    now = datetime.now(UTC)
    page.clock.install(time=now - timedelta(hours=1))  # no machine is so slow that the page is past `now` by then
    page.clock.pause_at(now)
    return page


def date_back() -> Assignment:
    """Date the latest HIT's pages back: the server's clock, which bounds every time, does not move with the page's."""
    ago = timezone.now() - timedelta(hours=2)
    Display.objects.exclude(shown_at=None).update(shown_at=ago)
    Display.objects.exclude(second_shown_at=None).update(second_shown_at=ago)
    return Assignment.objects.latest("pk")


def begin(open_as: OpenAs, *, size: ViewportSize = LAPTOP, instances: int = 4, **options: bool) -> Page:
    """Return the page of the first HIT of three pairs of realistic texts, with its clock stopped."""
    realistic_batch(instances=instances, pairs=len(DWELLS))
    return walk.begin(freeze(open_as("ann", "annotator", viewport=size, **options)))


def wait(page: Page, seconds: float) -> None:
    """Let time pass on the page, and its timers run."""
    page.clock.run_for(round(seconds * 1000))


def top_of(page: Page, place: int) -> float:
    """Return where in the window a pair's card begins."""
    return float(page.locator("[data-card]").nth(place).evaluate("card => card.getBoundingClientRect().top"))


def wheel_to(page: Page, place: int, remaining: int = 100) -> None:
    """Turn the wheel until so many pixels of the pair above are in view, or the page ends."""
    target = page.evaluate(
        "y => Math.min(scrollY + y, document.documentElement.scrollHeight - innerHeight)",
        top_of(page, place) - remaining,
    )
    page.mouse.move(900, 300)
    page.mouse.wheel(0, target - page.evaluate("scrollY"))
    page.wait_for_function("y => Math.abs(scrollY - y) < 2", arg=target)


def swipe_to(page: Page, place: int, remaining: int = 120) -> None:
    """Swipe with a finger, which lands on a card, until about so much is above the pair."""
    network = page.context.new_cdp_session(page)

    def touch(kind: str, at: float, *y: float) -> None:
        points = [{"x": 200, "y": one} for one in y]
        network.send("Input.dispatchTouchEvent", {"type": kind, "touchPoints": points, "timestamp": at})

    for _ in range(20):
        left = top_of(page, place) - remaining
        at_end = page.evaluate("left => left < 0 ? scrollY : innerHeight + scrollY - document.body.scrollHeight", left)
        if abs(left) < 20 or abs(at_end) < 2:
            return
        way = max(min(left, 300), -300)
        begun_at = time.time() - 2
        touch("touchStart", begun_at, 450)
        for part in range(1, 6):
            touch("touchMove", begun_at + part / 10, 450 - way * part / 5)
        touch("touchMove", begun_at + 1.5, 450 - way)  # the finger rests: a page still moving would swallow a tap
        touch("touchEnd", begun_at + 1.6)
    raise AssertionError(f"pair {place} is not to be reached")


def vote(page: Page, place: int, choice: str = "left") -> None:
    """Click a choice and wait until it is on the server."""
    walk.pair(page, place).locator(f"label:has([value={choice}])").click()
    expect(walk.pair(page, place).locator(".saved")).to_contain_text("Saved at")


def stored(hit: Assignment, stage: str = "first") -> list[Rating]:
    """Return the ratings of a HIT in the order of the page."""
    ratings = Rating.objects.filter(stage=stage, display__assignment=hit)
    return list(ratings.order_by("display__position"))


def assert_times(hit: Assignment, expected: Sequence[float], stage: str = "first") -> None:
    """Fail where a stored time is more than 15 % off, or the times of the pairs do not sum to the HIT's."""
    ratings = stored(hit, stage)
    active, wall = [one.active_seconds or 0 for one in ratings], [one.wall_seconds or 0 for one in ratings]
    assert active == pytest.approx(expected, rel=0.15)
    assert wall == pytest.approx(expected, rel=0.15)
    assert sum(wall) == pytest.approx(sum(expected), rel=0.02)


def test_time_goes_to_the_pair_that_a_rater_is_at(open_as: OpenAs) -> None:
    page = begin(open_as)
    hit = date_back()
    with step("by mouse, to the pair that fills the window"):
        for place, dwell in enumerate(DWELLS):
            wheel_to(page, place)
            wait(page, dwell)
            vote(page, place)
        assert_times(hit, DWELLS)
    with step("time on a pair after its vote comes with the submission"):
        wheel_to(page, 0, 10)
        wait(page, 8)
        assert_times(hit, DWELLS)
        walk.submit_to(page, 2)
        assert_times(hit, [DWELLS[0] + 8, *DWELLS[1:]])

    hit = date_back()
    with step("to the next open pair after a click, where all of them fit in the window"):
        page.set_viewport_size({"width": 1800, "height": 2400})
        for place, dwell in enumerate(DWELLS):
            wait(page, dwell)
            vote(page, place)
        assert_times(hit, DWELLS)
        walk.submit_to(page, 3)

    hit = date_back()
    with step("to another pair in view by a click, a selection and the Tab key"):
        page.set_viewport_size({"width": 1280, "height": 1000})
        first, second = (walk.card(page, place) for place in (0, 1))
        wait(page, 4)
        second.locator("h2").click()
        wait(page, 7)
        first.locator("h2").evaluate("head => getSelection().selectAllChildren(head)")
        wait(page, 5)
        walk.pair(page, 0).locator("input[name=choice]").first.focus()
        for _ in range(2):  # past the report of the first pair
            page.keyboard.press("Tab")
        wait(page, 6)
        wheel_to(page, 2)
        for place in range(3):
            walk.pair(page, place).locator("input[value=left]").evaluate("radio => radio.click()")
            expect(walk.pair(page, place).locator(".saved")).to_contain_text("Saved at")
        assert [one.active_seconds for one in stored(hit)[:2]] == pytest.approx([9, 13], rel=0.15)
        walk.submit_to(page, 4)

    hit = date_back()
    with step("by keys, to the pair that they lead to"):
        page.set_viewport_size(LAPTOP)
        for place, dwell in enumerate(DWELLS):
            wait(page, dwell)
            page.keyboard.press("1")
            expect(walk.pair(page, place).locator(".saved")).to_contain_text("Saved at")
            page.keyboard.press("Enter")
            if place < 2:
                expect(walk.card(page, place + 1).locator("h2")).to_be_focused()
        expect(page.locator("[data-action=submit]")).to_be_focused()
        page.keyboard.press("Enter")
        expect(page.locator("h1")).to_have_text("Thank you!")
        assert_times(hit, DWELLS)


@pytest.mark.weekly
def test_a_finger_leads_to_the_pair_that_it_swipes_to(open_as: OpenAs) -> None:
    page = begin(open_as, size=PHONE, instances=1, has_touch=True, is_mobile=True)
    hit = date_back()
    for place, dwell in enumerate(DWELLS):
        swipe_to(page, place)
        wait(page, dwell)
        radio = walk.pair(page, place).locator("label:has([value=left])")
        radio.scroll_into_view_if_needed()
        radio.tap()
        expect(walk.pair(page, place).locator(".saved")).to_contain_text("Saved at")
    walk.submit(page)
    assert_times(hit, DWELLS)


@pytest.mark.weekly
def test_time_is_active_only_while_a_rater_is_there(open_as: OpenAs) -> None:
    page = begin(open_as)
    hit = date_back()
    with step("a hidden page, a pause and a machine asleep are wall time only"):
        wait(page, 10)
        hide(page, hidden=True)
        wait(page, 100)
        hide(page, hidden=False)
        page.clock.fast_forward(600_000)  # asleep: no timer ran
        page.mouse.move(500, 300)
        wait(page, 90)  # 60 of them without input for more than 30 s
        vote(page, 0)
        (rating,) = stored(hit)
        assert rating.active_seconds == pytest.approx(40, rel=0.1)
        assert rating.wall_seconds == pytest.approx(800, rel=0.01)
        for place in (1, 2):
            vote(page, place)
        walk.submit_to(page, 2)

    hit = date_back()
    with step("time survives a reload, and is shared by tabs"):
        wait(page, 5)
        page.reload()
        wait(page, 5)
        hide(page, hidden=True)
        other = page.context.new_page()
        other.goto(page.url)
        wait(other, 10)
        vote(other, 0)
        assert stored(hit)[0].active_seconds == pytest.approx(20, rel=0.1)
    with step("another browser continues from what the server has"):
        elsewhere = freeze(open_as("ann", viewport=LAPTOP))
        elsewhere.goto(page.url)
        wheel_to(elsewhere, 0, 10)
        wait(elsewhere, 8)
        vote(elsewhere, 0, "right")
        assert stored(hit)[0].active_seconds == pytest.approx(28, rel=0.15)
        for place in (1, 2):
            vote(elsewhere, place)
        walk.submit_to(elsewhere, 3)

    Study.objects.update(content_warning="Read all of this first.\n\n" * 40)
    elsewhere.reload()
    hit = date_back()
    with step("the last pair keeps the time while no pair is in view"):
        wheel_to(elsewhere, 1)
        wait(elsewhere, 4)
        elsewhere.mouse.wheel(0, -9000)
        expect(elsewhere.locator("h1")).to_be_in_viewport()
        wait(elsewhere, 6)
        vote(elsewhere, 1)
        assert [one.active_seconds for one in stored(hit)] == pytest.approx([10], rel=0.15)


def hide(page: Page, *, hidden: bool) -> None:
    """Make the page believe that its tab is in the background, or again in front."""
    page.evaluate(
        """hidden => {
            Object.defineProperty(document, "hidden", {value: hidden, configurable: true});
            document.dispatchEvent(new Event("visibilitychange"));
        }""",
        hidden,
    )


@pytest.mark.weekly
def test_both_stages_have_their_own_times(open_as: OpenAs) -> None:
    two_stage_study("table:c8")
    page = walk.begin(freeze(open_as("ann", "annotator", viewport={"width": 1280, "height": 400})))
    hit = date_back()
    for place, dwell in enumerate((5.0, 7.0)):
        walk.card(page, place).locator("h2").click()
        wait(page, dwell)
        vote(page, place)
    walk.card(page, 0).locator("h2").click()
    wait(page, 4)
    walk.lock(page)
    assert_times(hit, [9, 7])
    for dwell in (6.0, 8.0):
        date_back()
        wait(page, dwell)
        walk.decide(page, "right")
    walk.submit(page)
    assert_times(hit, [9, 7])
    assert_times(hit, [6, 8], "revised")
