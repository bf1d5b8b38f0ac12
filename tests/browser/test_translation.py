"""Browsers that translate pages: the texts that are judged stay as they are, and it is noted with each choice."""

from collections.abc import Callable

from playwright.sync_api import Page

from annotation.models import Rating
from tests.browser import walk
from tests.browser.test_two_stages import two_stage_study
from tests.browser.walk import step

OpenAs = Callable[..., Page]
# As Chrome does: every text is wrapped, but where the page asks for it to be left alone, and the root says that it was done.
TRANSLATE = """() => {
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  const nodes = [];
  while (walker.nextNode()) nodes.push(walker.currentNode);
  for (const node of nodes) {
    if (!node.data.trim() || node.parentElement.closest("[translate=no], script, style")) continue;
    const font = document.createElement("font");
    font.textContent = node.data.toUpperCase();
    node.replaceWith(font);
  }
}"""
JUDGED = ".text, td[dir=auto], th[scope=row]"


def test_a_translator_leaves_the_texts_alone_and_is_noted(open_as: OpenAs) -> None:
    two_stage_study("table:c8")
    page = walk.begin(open_as("ann", "annotator"))
    root = page.locator("html")

    def judged() -> list[str]:
        return page.locator(JUDGED).all_text_contents()

    with step("the first stage"):
        before = judged()
        assert len(before) == 1 + 2 * 2
        walk.rate(page, ["left"])
        page.evaluate(TRANSLATE)
        root.evaluate("root => root.classList.add('translated-ltr')")
        assert judged() == before
        walk.choose(page, 1, "right")
        page.wait_for_function("() => !Object.keys(localStorage).some(name => name.startsWith('tandem:'))")
        ratings = Rating.objects.order_by("display__position")
        assert list(ratings.values_list("translated", flat=True)) == [False, True]
    with step("the second stage, by another browser, which names the language alone"):
        page.reload()
        page.locator("[data-action=lock]").click()
        page.locator("form[data-second]").wait_for()
        before = judged()
        assert "names of pair" in " ".join(before)
        page.evaluate(TRANSLATE)
        root.evaluate("root => (root.lang = 'fr')")
        assert judged() == before
        form = page.locator("form[data-second]")
        form.locator("input[value=left]").check()
        form.locator("textarea[name=reason]").fill(walk.REASON)
        form.locator("button[data-save]").click()
        page.locator(".card.decided").wait_for()
        assert Rating.objects.for_question(0).get(stage="revised").translated is True
