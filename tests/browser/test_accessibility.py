"""Every page that a rater meets: axe finds nothing, in light and dark, wide and narrow, and nothing is cut off."""

from collections.abc import Callable, Iterator, Sequence
from itertools import product
from typing import Any, Literal

import pytest
from axe_playwright_python.base import AXE_SCRIPT
from playwright.sync_api import Page, expect

from annotation.members.accounts import grant_role, login_link
from annotation.models import Study
from tests.browser import walk
from tests.factories import add_instances, add_tables, criterion, instance_rows, make_batch, make_study

OpenAs = Callable[..., Page]
Look = tuple[Literal["dark", "light"], tuple[int, int], list[str], list[str]]

RULES = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]
OF_COLOURS = ["color-contrast", "link-in-text-block"]
DESKTOP, PHONE = (1280, 1024), (360, 740)
ZOOMED = (640, 512)  # what 200 % leaves of the desktop
# A dark page is the same page in other colours, and a narrow one the same colours in another place. The dark one comes first, so
# that theme and size change as seldom as they can.
LOOKS: tuple[Look, ...] = (
    ("dark", DESKTOP, OF_COLOURS, []),
    ("light", DESKTOP, RULES, []),
    ("light", PHONE, RULES, OF_COLOURS),
)
# To look is most of the work of a page: a HIT is seen in every look in each run, its other states in one, and in the rest of them,
# as other pages in all, by `make test-all`.
SHARED_OUT = [
    pytest.param((LOOKS[1],), id="light"),
    pytest.param((LOOKS[0], LOOKS[2]), id="dark and narrow", marks=pytest.mark.weekly),
]
# Of its report, half a megabyte on a page of long texts, only what is wrong is handed over. Nothing is loaded again for
# it: of its rules, one about films and sounds, which no page has, and one outside RULES would need that.
RUN_AXE = """async ([rules, without]) => {
    const left = Object.fromEntries(without.map(rule => [rule, {enabled: false}]));
    const found = await axe.run(document, {resultTypes: ["violations"], runOnly: rules, rules: left, preload: false});
    return {engine: found.testEngine.name, violations: found.violations};
}"""
TEXT = "The ferry at seven is cancelled, so they take the one at eight twenty and walk from the landing. " * 4
TOLD = {
    "guidelines": "Read the source first.\n\n- Prefer what is true.\n- Then what is short.\n\n| better | worse |\n|-|-|\n| a | b |",
    "content_warning": "Some texts are **about accidents**.",
    "contact": "study@example.org",
    "pay_per_hit": "1.50",
    "currency": "EUR",
    "minutes_per_hit": 5,
}


class Inspection:
    """Looks at one page after the other, and keeps what is wrong with each."""

    def __init__(self, looks: Sequence[Look] = LOOKS) -> None:
        self.looks = looks
        self.found: dict[str, list[str]] = {}

    def look(self, page: Page, name: str, looks: Sequence[Look] = ()) -> None:
        """Run axe over the page as it stands, in each look, or in those that are named; its forms, dialogs and what was typed stay as they are."""
        page.wait_for_load_state()  # a click returns when the next page begins to come
        if not page.evaluate("'axe' in window"):
            # The page's own policy, which would refuse it, does not bind the browser's driver.
            page.evaluate(AXE_SCRIPT)
        for theme, size, rules, left_out in looks or self.looks:
            page.emulate_media(color_scheme=theme)
            resize(page, size)
            for violation in self._violations(page, rules, left_out):
                nodes = [
                    f"{' '.join(map(str, node['target']))}: {node['failureSummary']}" for node in violation["nodes"]
                ]
                self._note(f"{name}, {theme}, {size[0]}", f"{violation['id']}: {violation['help']}", *nodes)
        for size in (PHONE, ZOOMED):
            resize(page, size)
            if (needed := page.evaluate("document.documentElement.scrollWidth")) > size[0]:
                self._note(f"{name}, {size[0]}", f"is {needed} wide")
        resize(page, DESKTOP)

    def _violations(self, page: Page, rules: list[str], left_out: list[str]) -> list[dict[str, Any]]:
        results: dict[str, Any] = page.evaluate(RUN_AXE, [rules, left_out])
        assert results["engine"] == "axe-core"
        violations: list[dict[str, Any]] = results["violations"]
        return violations

    def _note(self, where: str, *problems: str) -> None:
        self.found.setdefault(where, []).extend(problems)


def resize(page: Page, size: tuple[int, int]) -> None:
    """Show a page in another size, unless it has it: to set it lays the page out again."""
    wanted = {"width": size[0], "height": size[1]}
    if page.viewport_size != wanted:
        page.set_viewport_size(wanted)


@pytest.fixture
def inspection(request: pytest.FixtureRequest) -> Iterator[Inspection]:
    """Collect what is wrong on all pages of a test, in every look or those of its parameter, and fail with all of it at the end."""
    inspection = Inspection(getattr(request, "param", LOOKS))
    yield inspection
    told = "\n".join(f"{where}\n  " + "\n  ".join(problems) for where, problems in inspection.found.items())
    assert not inspection.found, told


def make_pages(*, k: int = 2, instances: int = 1, gold: bool = False, **settings: object) -> Study:
    """Make a study with everything that a page can show, and texts of some length; two pairs show all that many do."""
    study = make_study(instances=0, **{**TOLD, **settings})
    rows = instance_rows(instances=instances, k=k, source=TEXT * 4)
    for row in rows:
        row.generations.update(
            {name: [f"{TEXT} **{name[0]}{index}**" for index in range(k)] for name in row.generations}
        )
        if gold:
            object.__setattr__(row, "gold", {"better": "alpha", "why": "It names the time."})
    return add_instances(study, rows)


def make_tables(study: Study) -> None:
    """Give every pair a comparison table with short, long and empty cells."""
    rows = [
        {"aspect": "Ferry", "only_a": "cancelled at seven", "both": "", "only_b": "runs at eight twenty"},
        {"aspect": "Way from the landing", "only_a": "", "both": "they walk for ten minutes " * 3, "only_b": ""},
    ]
    add_tables(study, rows=rows)


def post(page: Page, address: str, **fields: str) -> None:
    """Send a form that no page offers, as a stale or forged page would, and show the answer."""
    token = page.locator("[name=csrfmiddlewaretoken]").first.input_value()
    with page.expect_navigation():
        page.evaluate(
            """([action, fields]) => {
                const form = document.createElement("form");
                form.method = "post"; form.action = action;
                for (const [name, value] of Object.entries(fields)) {
                    const input = document.createElement("input");
                    input.name = name; input.value = value; form.append(input);
                }
                document.body.append(form); form.submit();
            }""",
            [address, {**fields, "csrfmiddlewaretoken": token}],
        )


@pytest.mark.weekly
def test_before_the_first_hit(open_as: OpenAs, inspection: Inspection) -> None:
    study = make_pages()
    make_batch(study, pairs=2)
    page = open_as("ann", "annotator")
    page.goto("/rate/")
    inspection.look(page, "consent")
    post(page, f"/rate/consent/{study.key}/", answer="perhaps")
    expect(page.get_by_role("alert")).to_be_visible()
    inspection.look(page, "consent, unclear")
    page.get_by_role("button", name="I do not agree").click()
    inspection.look(page, "declined")
    page.goto("/rate/progress/")
    inspection.look(page, "progress, nothing done")

    stranger = walk.open_context(page.context.browser, base_url=page.url.split("/rate/")[0]).new_page()
    stranger.goto("/login/")
    inspection.look(stranger, "sign in")
    stranger.get_by_label("Username").fill("ann")
    stranger.get_by_label("Password").fill("wrong")
    stranger.locator("main form button").click()
    inspection.look(stranger, "sign in, refused")
    stranger.goto("/login/link/?sesame=used")
    inspection.look(stranger, "used link")
    bob, _ = grant_role(username="bob", role="annotator")
    stranger.goto(login_link(user=bob, base_url=""))
    inspection.look(stranger, "link")
    stranger.context.close()
    page.goto(login_link(user=bob, base_url=""))
    inspection.look(page, "link of somebody else")


@pytest.mark.parametrize("inspection", SHARED_OUT, indirect=True)
def test_a_hit_in_one_stage(open_as: OpenAs, inspection: Inspection) -> None:
    study = make_pages(language="en", render_markdown=True)
    make_batch(study, pairs=2)
    page = walk.begin(open_as("ann", "annotator"))
    inspection.look(page, "HIT, first visit", LOOKS)
    page.keyboard.press("?")
    expect(page.locator("dialog[open]")).to_be_visible()
    inspection.look(page, "HIT, list of shortcuts")
    page.keyboard.press("Escape")
    page.locator("#tool-differences").check()
    page.locator("details:not([open]) > summary").evaluate_all("all => all.forEach(summary => summary.click())")
    inspection.look(page, "HIT, differences, everything open")
    walk.rate(page, ["left"])
    page.locator("[data-action=submit]").click()
    expect(page.get_by_role("alert").filter(visible=True)).to_contain_text("pair 2")
    inspection.look(page, "HIT, submitted early", LOOKS)
    page.context.set_offline(True)
    waiting = walk.choose(page, 1, "right")
    expect(waiting).to_contain_text("Waiting")
    inspection.look(page, "HIT, offline")
    page.context.set_offline(False)
    expect(waiting).to_contain_text("Saved at")
    with walk.step("axe finds what is wrong"):
        broken = Inspection(LOOKS[1:2])
        page.evaluate(
            """() => {
                document.querySelector("fieldset.choices legend").remove();
                document.querySelector("label.choice").replaceWith(document.querySelector("label.choice input"));
                document.querySelector("h1").style.color = "#999";
                document.querySelector(".pairs").style.minWidth = "1200px";
            }"""
        )
        broken.look(page, "broken")
        told = str(broken.found)
        assert all(problem in told for problem in ("label:", "color-contrast:", "wide")), told


@pytest.mark.weekly
def test_around_a_hit_and_the_end_of_the_work(open_as: OpenAs, inspection: Inspection) -> None:
    study = make_pages(ties_allowed=False)
    make_batch(study, pairs=2)
    page = walk.begin(open_as("ann", "annotator"))
    hit = page.url
    report = page.locator("[id^=report-]").first
    report.locator("summary").click()
    report.locator("input[value=other]").check()
    report.locator("textarea").fill("It stops in the middle of a word.")
    report.get_by_role("button", name="Report").click()
    expect(page.locator(".reported").first).to_be_visible()
    inspection.look(page, "HIT, reported")
    page.goto(f"{hit}return/")
    inspection.look(page, "return")
    post(page, f"{hit}return/", reason="none of these")
    inspection.look(page, "return, refused")
    page.goto(hit)
    walk.rate(page, ["left", "right"])
    walk.submit(page)
    post(page, f"{hit}vote/", pair_key="x", choice="left")
    inspection.look(page, "not found")
    post(page, f"{hit}return/", reason="other")
    inspection.look(page, "refused, for it was submitted")
    page.goto("/rate/progress/")
    inspection.look(page, "progress")
    page.goto(f"/rate/consent/{study.key}/")
    inspection.look(page, "consent, given before")
    page.goto("/rate/")
    inspection.look(page, "nothing to rate")
    page.goto(f"/rate/consent/{study.key}/withdraw/")
    inspection.look(page, "withdraw")
    page.get_by_role("button", name="Withdraw for good").click()
    inspection.look(page, "withdrawn")
    page.goto("/rate/")
    inspection.look(page, "nothing to rate, withdrawn")
    page.goto("/rate/data/")
    inspection.look(page, "own data")
    page.get_by_role("link", name="Delete everything, in all studies").click()
    inspection.look(page, "delete own data")
    page.get_by_role("button", name="Delete my data for good").click()
    inspection.look(page, "own data deleted")


@pytest.mark.weekly
def test_a_qualification(open_as: OpenAs, inspection: Inspection) -> None:
    study = make_pages(gold=True, instances=2, qualification_attempts=2)
    make_batch(study, name="first", pairs=2, purpose="qualification", select="random:1")
    make_batch(study, name="work", pairs=2)
    page = walk.begin(open_as("ann", "annotator"))
    inspection.look(page, "qualification")
    for attempt in ("first", "second"):
        walk.rate(page, ["none", "none"])
        walk.submit(page)
        if attempt == "second":  # the answers of the only HIT come after the last attempt
            inspection.look(page, "feedback")
            expect_source_beside_every_answer(page)
            page.get_by_role("button", name="Continue").click()
            page.get_by_text("What was expected").click()
        inspection.look(page, f"standing, {attempt} attempt")
        if attempt == "first":
            page.get_by_role("button", name="Try again").click()
    page.goto("/rate/")
    inspection.look(page, "nothing to rate, not qualified")


def expect_source_beside_every_answer(page: Page) -> None:
    """Expect the text that the pairs are about to stay in view, whichever of them one reads."""
    source = page.get_by_role("region", name="Source text")
    expect(source).to_contain_text("The ferry at seven is cancelled")
    for size, place in product((DESKTOP, PHONE), range(2)):
        resize(page, size)
        page.locator(".card").nth(place).evaluate("card => card.scrollIntoView({block: 'start', behavior: 'instant'})")
        with walk.step(f"the source beside pair {place + 1}, {size[0]} wide"):
            expect(source).to_be_in_viewport()
            expect(page.locator(".card h2").nth(place)).to_be_in_viewport()


@pytest.mark.parametrize("inspection", SHARED_OUT, indirect=True)
def test_a_hit_in_two_stages_with_a_table(open_as: OpenAs, inspection: Inspection) -> None:
    study = make_pages(protocol="two-stage", arms=["table:c8"])
    make_tables(study)
    make_batch(study, pairs=2)
    page = walk.begin(open_as("ann", "annotator"))
    walk.rate(page, ["left", "none"])
    inspection.look(page, "first stage, all rated")
    walk.lock(page)
    page.get_by_role("button", name="Not supported by the texts").first.click()
    expect(page.locator("[aria-pressed=true]")).to_have_count(1)
    page.locator("form[data-second] input[value=right]").check()
    page.locator("form[data-second]").evaluate("form => { form.noValidate = true; }")  # as a browser without scripts
    page.locator("button[data-save]").click()
    expect(page.locator("form[data-second]").get_by_role("alert")).to_be_visible()
    inspection.look(page, "second stage, without a reason")
    walk.decide(page, "right")
    page.locator("[data-action=submit]").click()
    expect(page.get_by_role("alert").filter(visible=True)).to_contain_text("pair 2")
    inspection.look(page, "second stage, submitted early")
    walk.decide(page, "none")
    inspection.look(page, "second stage, all decided")
    page.get_by_role("link", name="Look again").first.click()
    expect(page.locator("form[data-second]")).to_be_visible()
    inspection.look(page, "second stage, changing a decision")


@pytest.mark.weekly
def test_a_hit_with_several_questions(open_as: OpenAs, inspection: Inspection) -> None:
    faith = criterion("faith", description="All of it is in the **source**.", strength=True, tie_kinds=True)
    more = {"criteria": [faith, criterion("style")], "strength": True, "question_description": "All in all."}
    make_batch(make_pages(**more, first_reason="required", protocol="two-stage", arms=["none"]), pairs=2)
    page = walk.begin(open_as("ann", "annotator"))
    page.locator("form[data-pair]").first.locator("input[value=left-much]").click()
    expect(page.locator("[data-vote]").first).to_be_focused()
    page.locator("[data-action=lock]").click()
    expect(page.get_by_role("alert").filter(visible=True)).to_contain_text("pair 1 (questions 2, 3 and reason")
    inspection.look(page, "several questions, locked early")
    for number in range(2):
        card = page.locator("[data-card]").nth(number)
        card.locator("[data-vote]").fill("It leaves out nothing of weight.")
        for question, choice in enumerate(("left-much", "both-good", "none")):
            card.locator("form[data-pair]").nth(question).locator(f"input[value={choice}]").click()
        expect(card.locator(".saved", has_text="Saved at")).to_have_count(3)
    inspection.look(page, "several questions, all answered")
    walk.lock(page)
    inspection.look(page, "second stage with strengths")
