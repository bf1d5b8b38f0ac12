"""The page that tells how a qualification went: it is read beside the text that the pairs are about."""

from collections.abc import Callable
from itertools import product

from playwright.sync_api import Page, ViewportSize, expect

from annotation.models import Study
from tests.browser import walk
from tests.browser.test_accessibility import make_pages
from tests.factories import make_batch

OpenAs = Callable[..., Page]


def test_the_source_stays_in_view_beside_every_answer(open_as: OpenAs, transactional_db: None) -> None:
    study = make_pages(gold=True, instances=2, k=3)
    Study.objects.filter(pk=study.pk).update(qualification_attempts=1)  # so that no answer helps in a further one
    make_batch(study, name="first", pairs=3, purpose="qualification", select="random:1")
    make_batch(study, name="work", pairs=3)
    page = open_as("ann", "annotator")
    walk.begin(page)
    walk.rate(page, ["none", "none", "none"])
    walk.submit(page)
    source = page.get_by_role("region", name="Source text")
    expect(source).to_contain_text("The ferry at seven is cancelled")
    sizes: list[ViewportSize] = [{"width": 1280, "height": 800}, {"width": 360, "height": 740}]
    for size, place in product(sizes, range(3)):
        page.set_viewport_size(size)
        page.locator(".card").nth(place).evaluate("card => card.scrollIntoView({block: 'start', behavior: 'instant'})")
        expect(source).to_be_in_viewport()
        expect(page.locator(".card h2").nth(place)).to_be_in_viewport()
