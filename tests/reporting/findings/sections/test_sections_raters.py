"""The section of the findings page on people one by one."""

import re
from typing import Any

import pytest
from django.contrib.auth.models import User

from annotation.models import Annotator
from tests.factories import make_user, signed_in
from tests.reporting.builders import Built, build_configuration, build_study, rate

pytestmark = [pytest.mark.django_db]
HOSTILE = "<b>eve</b>"


@pytest.fixture
def built() -> Built:
    """Ann always takes the left, slowly; a hostile code votes at once; Bob is a program."""
    built = build_configuration(build_study("shown"), instances=6, pairs=2)
    for place in range(6):
        rate(built, place, "ann", [-1, 1], a_is_left=[True, False], active_seconds=40.0)
        rate(built, place, HOSTILE, [-1, -1] if place % 2 else [1, 0], active_seconds=0.5)
    rate(built, 0, "bob", [1, 1], kind=Annotator.Kind.SCRIPTED)
    return built


def page_of(built: Built, query: str = "") -> str:
    client = signed_in(
        User.objects.filter(username="reader").first() or make_user("reader", "researcher", study=built.study)
    )
    response: Any = client.get(f"/studies/shown/findings/{query}")
    assert response.status_code == 200
    return str(response.content.decode())


def said_of(page: str) -> list[str]:
    section = page[page.index('id="raters"') :].split("<details>")[1].split("</details>", maxsplit=1)[0]
    return [" ".join(item.split()) for item in re.findall(r"<li>.*?</li>", section, re.DOTALL)]


def rows_of(page: str) -> list[str]:
    section = page[page.index('id="raters"') :]
    return re.findall(r"<tr>.*?</tr>", section[: section.index("</table>")], re.DOTALL)[1:]


@pytest.mark.slow
def test_people_to_look_at_come_first_and_link_to_their_page(built: Built) -> None:
    page = page_of(built)
    rows = rows_of(page)
    assert [name in row for name, row in zip(("eve", "ann", "bob"), rows, strict=True)] == [True] * 3
    assert "&lt;b&gt;eve&lt;/b&gt;" in rows[0]
    assert HOSTILE not in page
    eve, ann = said_of(page)
    assert "0.5 s a pair (median of 12), less than 2 s." in eve
    assert "words a minute" not in eve  # the texts have a word or two
    assert "All 12 preferences are for the text on the left" in ann
    assert f'href="/studies/shown/raters/{Annotator.objects.get(code="ann").pk}/"' in rows[1]
    assert "(a program)" in rows[2]


@pytest.mark.slow
def test_columns_sort_by_the_address(built: Built) -> None:
    rows = rows_of(page_of(built, "?with_incomplete=1&raters_by=seconds"))
    assert [name in row for name, row in zip(("ann", "eve", "bob"), rows, strict=True)] == [True] * 3
    page = page_of(built, "?with_incomplete=1&raters_by=none-such")
    assert 'href="?with_incomplete=1&amp;raters_by=left#raters"' in page
    assert "raters_by=gold#raters" not in page  # no rater has answered a check
    assert "eve" in rows_of(page)[0]


@pytest.mark.slow
def test_votes_are_taken_in_the_order_in_which_the_pairs_were_shown() -> None:
    """On the page the pairs were in another order than on the HIT: there Ann's ratings go left and right in turn."""
    built = build_configuration(build_study("shown"), instances=2, pairs=6)
    for place in range(2):
        made = rate(built, place, "ann", [-1, -1, -1, 1, 1, 1], active_seconds=40.0)
        for display, position in zip(made.displays.order_by("position"), (10, 12, 14, 11, 13, 15), strict=True):
            display.position = position
            display.save(update_fields=["position"])
    assert "All 12 ratings alternate between left and right." in said_of(page_of(built))[0]
