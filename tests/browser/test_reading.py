"""The pair that is being read: by simulated raters of random pages, and on real pages in large windows."""

import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings as hypothesis_settings
from playwright.sync_api import Browser, Page, ViewportSize, expect

from tests.browser import outbox, walk
from tests.browser.realistic import realistic_batch
from tests.browser.test_dwell_times import date_back, freeze, stored, vote, wait
from tests.browser.walk import step
from tests.tools.helpers import ROOT

OpenAs = Callable[..., Page]

INPUTS = ("mouse", "keys", "touch")
SIMULATION = Path(__file__).with_name("reading_simulation.js")
HITS = 25 * hypothesis_settings.default.max_examples  # type: ignore[attr-defined]


@pytest.fixture(scope="module")
def blank(chromium: Browser) -> Iterator[Page]:
    """An empty page that holds the module and simulated raters."""
    page = chromium.new_page()
    module = (ROOT / "static" / "js" / "reading.js").read_text("utf-8")
    page.add_script_tag(content=SIMULATION.read_text("utf-8"))
    page.evaluate(
        "async text => { window.reading = await import(`data:text/javascript,${encodeURIComponent(text)}`); }", module
    )
    yield page
    page.close()


def rated_hits(page: Page, **rater: object) -> list[dict[str, Any]]:
    """Simulate HITs of random pairs, windows and dwell times, by a rater of this kind."""
    hits: list[dict[str, Any]] = page.evaluate(
        "([count, rater]) => Array.from({ length: count }, (_, seed) => simulate(reading, seed + 1, rater))",
        [HITS, rater],
    )
    assert [hit for hit in hits if hit["wrongKeys"] or not hit["arrivedAtFirst"]] == []
    return hits


@pytest.mark.parametrize("advance", [True, False])
@pytest.mark.parametrize("kind", INPUTS)
@pytest.mark.parametrize(
    ("jumps", "undecided", "most"),
    [
        pytest.param(False, False, 0.05, id="from top to bottom"),
        pytest.param(True, False, 0.2, id="in any order"),
        # No input tells what a rater looks at without the mouse, a key or scrolling; such visits are not counted.
        pytest.param(True, True, 0.2, id="other pairs before a choice"),
    ],
)
def test_little_of_the_time_is_misattributed(
    blank: Page, kind: str, advance: bool, jumps: bool, undecided: bool, most: float
) -> None:
    hits = rated_hits(blank, input=kind, jumps=jumps, undecided=undecided, advance=advance)
    assert [hit for hit in hits if hit["share"] > most] == []


def test_the_mark_is_on_the_first_open_pair_in_view_wherever_the_mouse_is(blank: Page) -> None:
    wrong = blank.evaluate(
        """count => Array.from({ length: count }, (_, seed) => {
            const random = randomNumbers(seed);
            const page = new Page(random, { width: 320 * 12 ** random(), height: 480 + 1680 * random() });
            for (const pair of page.pairs) pair.done = random() < 0.5;
            page.scrollTo(random() * page.end);
            const view = page.view();
            const whole = view.pairs.find((pair) => !pair.done && pair.top >= view.area.top && pair.bottom <= view.area.bottom);
            const marks = [null, ...view.pairs].map((pair) => {
                return reading.currentPairs(view, { turned: null, hint: pair && { name: pair.name, byMouse: true }, before: null }).marked;
            });
            const marked = view.pairs.find((pair) => pair.name === marks[0]);
            const isLater = whole && (marked.done || marked.top > whole.top);
            return isLater || marks.some((mark) => mark !== marks[0]) ? seed : null;
        }).filter((seed) => seed !== null)""",
        HITS,
    )
    assert wrong == []


DESKTOPS: list[ViewportSize] = [{"width": 1920, "height": 1080}, {"width": 2560, "height": 1440}]
LENGTHS = [90, 700, 240, 1500, 60]  # characters of a pair's texts
DWELLS = [9.0, 3.2, 7.3, 8.2, 5.3]  # seconds


def begin(open_as: OpenAs, *, instances: int, **settings: Any) -> Page:
    """Return the page of the first HIT of five pairs of uneven heights, with its clock stopped."""
    realistic_batch(instances=instances, pairs=len(LENGTHS), lengths=LENGTHS, **settings)
    return walk.begin(freeze(open_as("ann", "annotator", viewport=DESKTOPS[0])))


def test_keys_answer_the_pairs_from_the_top(open_as: OpenAs) -> None:
    page = begin(open_as, instances=2, auto_advance=True)
    hits = []
    for number, size in enumerate(DESKTOPS, 1):
        with step(f"HIT {number} at {size['width']} pixels"):
            page.set_viewport_size(size)
            expect(walk.card(page, 0)).to_have_class(re.compile("current"))
            page.keyboard.type("13213")
            outbox.expect_saved(page, *range(5))
            hits.append(walk.on_server(page))
            expect(page.locator("[data-action=submit]")).to_be_focused()
            page.keyboard.type("2")  # keys rest
            assert outbox.checked(page) == ["left", "right", "none", "left", "right"]
            page.keyboard.press("Enter")
            expect(page.locator("h1")).to_have_text(f"HIT {number + 1}" if number < 2 else "Thank you!")
    assert hits == [{0: "left", 1: "right", 2: "none", 3: "left", 4: "right"}] * 2


def read_by_mouse(page: Page, place: int, seconds: float) -> None:
    """Read a pair with the mouse moving over it; turn the wheel no farther than to its choices."""
    choice = walk.pair(page, place).locator("label:has([value=left])")
    top, bottom = walk.card(page, place).locator("h2").bounding_box(), choice.bounding_box()
    status = page.locator("#hit-status").bounding_box()
    assert top
    assert bottom
    assert status
    below = bottom["y"] + bottom["height"] + 10 - status["y"]
    if below > 0 or top["y"] < 0:
        by = below if below > 0 else top["y"] - 10
        target = page.evaluate("by => Math.max(0, scrollY + by)", by)
        page.mouse.wheel(0, by)
        page.wait_for_function("y => Math.abs(scrollY - y) < 2", arg=target)
    wait(page, 0.5)
    head = walk.card(page, place).locator("h3").first.bounding_box()
    assert head
    for shift in (5, 15):
        page.mouse.move(head["x"] + shift, head["y"] + 5)
    wait(page, seconds - 0.5)


@pytest.mark.parametrize(
    ("size", "order", "most"),
    [
        pytest.param(DESKTOPS[0], [0, 1, 2, 3, 4], 0.05, id="from the top"),
        pytest.param(DESKTOPS[1], [2, 0, 4, 1, 3], 0.2, id="in another order", marks=pytest.mark.weekly),
        pytest.param(DESKTOPS[1], [3, 0, 1, 4, 3, 2, 1, 4, 0], 0.2, id="others read before"),
    ],
)
def test_the_stored_times_are_those_of_the_pairs_read(
    open_as: OpenAs, size: ViewportSize, order: list[int], most: float
) -> None:
    page = begin(open_as, instances=1)
    page.set_viewport_size(size)
    hit = date_back()
    for index, place in enumerate(order):
        read_by_mouse(page, place, DWELLS[place])
        if place not in order[index + 1 :]:
            vote(page, place)
    walk.submit(page)
    spent = [DWELLS[place] * order.count(place) for place in range(len(DWELLS))]
    recorded = [rating.active_seconds or 0 for rating in stored(hit)]
    misattributed = sum(abs(seconds - done) for seconds, done in zip(recorded, spent, strict=True)) / 2
    assert misattributed <= most * sum(spent), (recorded, spent)
