"""How long a rater is at each pair: by mouse, keys and touch, from the page's clock down to the stored rows."""

import time
from collections.abc import Callable, Sequence
from datetime import UTC, datetime, timedelta

import pytest
from django.utils import timezone
from playwright.sync_api import Page, ViewportSize, expect

from annotation.models import Assignment, Display, Rating
from tests.browser import walk
from tests.browser.realistic import realistic_batch
from tests.browser.test_two_stages import two_stage_study

OpenAs = Callable[..., Page]

LAPTOP: ViewportSize = {"width": 1280, "height": 720}
PHONE: ViewportSize = {"width": 390, "height": 740}
DWELLS = [5.6, 5.5, 5.7, 5.9, 6.3]


def freeze(page: Page) -> Page:
    """Stop the clock of the pages that this tab opens; it moves only as far as `wait` moves it."""
    page.clock.install()
    page.clock.pause_at(datetime.now(UTC) + timedelta(seconds=1))
    return page


def shown_long_ago() -> None:
    """Date the pages back: the server's clock, which bounds every time, does not move with the page's."""
    ago = timezone.now() - timedelta(hours=2)
    Display.objects.exclude(shown_at=None).update(shown_at=ago)
    Display.objects.exclude(second_shown_at=None).update(second_shown_at=ago)


def begun(open_as: OpenAs, *, size: ViewportSize = LAPTOP, pairs: int = 5, **options: bool) -> Page:
    """Return the page of a HIT of realistic texts, with its clock stopped."""
    realistic_batch(pairs=pairs)
    page = freeze(open_as("ann", "annotator", viewport=size, **options))
    walk.begin(page)
    shown_long_ago()
    return page


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
        for step in range(1, 6):
            touch("touchMove", begun_at + step / 10, 450 - way * step / 5)
        touch("touchMove", begun_at + 1.5, 450 - way)  # the finger rests: a page still moving would swallow a tap
        touch("touchEnd", begun_at + 1.6)
    raise AssertionError(f"pair {place} is not to be reached")


def vote(page: Page, place: int, choice: str = "left") -> None:
    """Click a choice and wait until it is on the server."""
    walk.pair(page, place).locator(f"label:has([value={choice}])").click()
    expect(walk.pair(page, place).locator(".saved")).to_contain_text("Saved at")


def stored(stage: str = "first") -> list[Rating]:
    """Return the ratings in the order of the page."""
    return list(Rating.objects.of_every_question().filter(stage=stage).order_by("display__position"))


def assert_times(expected: Sequence[float], stage: str = "first") -> None:
    """Fail where a stored time is more than 15 % off, or the times of the pairs do not sum to the HIT's."""
    ratings = stored(stage)
    active, wall = [one.active_seconds or 0 for one in ratings], [one.wall_seconds or 0 for one in ratings]
    assert active == pytest.approx(expected, rel=0.15)
    assert wall == pytest.approx(expected, rel=0.15)
    assert sum(wall) == pytest.approx(sum(expected), rel=0.02)


def test_a_mouse_raters_time_goes_to_the_pair_that_fills_the_window(open_as: OpenAs, transactional_db: None) -> None:
    page = begun(open_as)
    for place, dwell in enumerate(DWELLS):
        wheel_to(page, place)
        wait(page, dwell)
        vote(page, place)
    assert_times(DWELLS)
    walk.submit(page)
    assert_times(DWELLS)


def test_a_mouse_raters_time_is_right_where_all_pairs_fit_in_the_window(
    open_as: OpenAs, transactional_db: None
) -> None:
    page = begun(open_as, size={"width": 1800, "height": 2400}, pairs=4)
    for place, dwell in enumerate(DWELLS[:4]):
        wait(page, dwell)
        vote(page, place)
    assert_times(DWELLS[:4])


def test_a_keyboard_raters_time_goes_to_the_pair_that_keys_lead_to(open_as: OpenAs, transactional_db: None) -> None:
    page = begun(open_as)
    for place, dwell in enumerate(DWELLS):
        wait(page, dwell)
        page.keyboard.press("1")
        expect(walk.pair(page, place).locator(".saved")).to_contain_text("Saved at")
        page.keyboard.press("Enter")
        if place < 4:
            expect(page.locator("[data-card] h2").nth(place + 1)).to_be_focused()
    expect(page.locator("[data-action=submit]")).to_be_focused()
    page.keyboard.press("Enter")
    expect(page).not_to_have_url(Assignment.objects.get().key)
    assert_times(DWELLS)


def test_a_phone_raters_time_goes_to_the_pair_that_was_swiped_to(open_as: OpenAs, transactional_db: None) -> None:
    page = begun(open_as, size=PHONE, has_touch=True, is_mobile=True)
    for place, dwell in enumerate(DWELLS):
        swipe_to(page, place)
        wait(page, dwell)
        radio = walk.pair(page, place).locator("label:has([value=left])")
        radio.scroll_into_view_if_needed()
        radio.tap()
        expect(walk.pair(page, place).locator(".saved")).to_contain_text("Saved at")
    walk.submit(page)
    assert_times(DWELLS)


@pytest.mark.parametrize("by", ["click", "selection", "tab"])
def test_a_click_a_key_or_a_selection_moves_the_time_to_another_pair_in_view(
    open_as: OpenAs, transactional_db: None, by: str
) -> None:
    page = begun(open_as, size={"width": 1280, "height": 1000}, pairs=3)
    wait(page, 4)
    second = walk.card(page, 1)
    if by == "click":
        second.locator("h2").click()
    elif by == "selection":
        second.locator("h2").evaluate("head => getSelection().selectAllChildren(head)")
    else:
        walk.pair(page, 0).locator("input[name=choice]").first.focus()
        for _ in range(2):  # past the report of the first pair
            page.keyboard.press("Tab")
    wait(page, 7)
    wheel_to(page, 2)
    for place in range(3):
        walk.pair(page, place).locator("input[value=left]").evaluate("radio => radio.click()")
        expect(walk.pair(page, place).locator(".saved")).to_contain_text("Saved at")
    first, other, _ = stored()
    assert [first.active_seconds, other.active_seconds] == pytest.approx([4, 7], rel=0.15)


def test_time_on_a_pair_after_its_vote_comes_with_the_submission(open_as: OpenAs, transactional_db: None) -> None:
    page = begun(open_as, pairs=2)
    for place, dwell in enumerate((5.0, 6.0)):
        wheel_to(page, place)
        wait(page, dwell)
        vote(page, place)
    wheel_to(page, 0, 10)
    wait(page, 8)
    assert_times([5, 6])
    walk.submit(page)
    assert_times([13, 6])


def test_the_last_pair_keeps_the_time_while_no_pair_is_in_view(open_as: OpenAs, transactional_db: None) -> None:
    realistic_batch(pairs=2, content_warning="Read all of this first.\n\n" * 40)
    page = freeze(open_as("ann", "annotator", viewport=LAPTOP))
    walk.begin(page)
    shown_long_ago()
    wheel_to(page, 1)
    wait(page, 4)
    page.mouse.wheel(0, -9000)
    expect(page.locator("h1")).to_be_in_viewport()
    wait(page, 6)
    vote(page, 1)
    (rating,) = stored()
    assert rating.active_seconds == pytest.approx(10, rel=0.15)


def test_both_stages_have_their_own_times(open_as: OpenAs, transactional_db: None) -> None:
    two_stage_study("table:c8")
    page = freeze(open_as("ann", "annotator", viewport={"width": 1280, "height": 400}))
    walk.begin(page)
    shown_long_ago()
    for place, dwell in enumerate((5.0, 7.0)):
        walk.card(page, place).locator("h2").click()
        wait(page, dwell)
        vote(page, place)
    walk.card(page, 0).locator("h2").click()
    wait(page, 4)
    walk.lock(page)
    assert_times([9, 7])
    for dwell in (6.0, 8.0):
        shown_long_ago()
        wait(page, dwell)
        walk.decide(page, "right")
    walk.submit(page)
    assert_times([9, 7])
    assert_times([6, 8], "revised")


def test_a_hidden_page_a_pause_and_a_machine_asleep_are_wall_time_only(open_as: OpenAs, transactional_db: None) -> None:
    page = begun(open_as, pairs=2)
    wait(page, 10)
    hide(page, hidden=True)
    wait(page, 100)
    hide(page, hidden=False)
    page.clock.fast_forward(600_000)  # asleep: no timer ran
    page.mouse.move(500, 300)
    wait(page, 90)  # 60 of them without input for more than 30 s
    vote(page, 0)
    (rating,) = stored()
    assert rating.active_seconds == pytest.approx(40, rel=0.1)
    assert rating.wall_seconds == pytest.approx(800, rel=0.01)


def hide(page: Page, *, hidden: bool) -> None:
    """Make the page believe that its tab is in the background, or again in front."""
    page.evaluate(
        """hidden => {
            Object.defineProperty(document, "hidden", {value: hidden, configurable: true});
            document.dispatchEvent(new Event("visibilitychange"));
        }""",
        hidden,
    )


def test_times_survive_a_reload_and_are_shared_by_tabs(open_as: OpenAs, transactional_db: None) -> None:
    page = begun(open_as, pairs=2)
    wait(page, 5)
    page.reload()
    wait(page, 5)
    hide(page, hidden=True)
    other = page.context.new_page()
    other.goto(page.url)
    wait(other, 10)
    vote(other, 0)
    (rating,) = stored()
    assert rating.active_seconds == pytest.approx(20, rel=0.1)


def test_another_browser_continues_from_what_the_server_has(open_as: OpenAs, transactional_db: None) -> None:
    page = begun(open_as, pairs=2)
    wait(page, 12)
    vote(page, 0)
    other = freeze(open_as("ann", viewport=LAPTOP))
    other.goto(page.url)
    wait(other, 8)
    vote(other, 0, "right")
    (rating,) = stored()
    assert rating.active_seconds == pytest.approx(20, rel=0.15)
