"""Parts of pages that are rendered once, and addresses that are looked up once."""

from datetime import UTC, datetime, timedelta, timezone

import pytest
from django.template import Context, Template, TemplateSyntaxError
from django.urls import reverse, set_script_prefix
from django.utils.safestring import mark_safe
from django.utils.translation import override

from annotation.templatetags.hit_page import clock, hit_address, iso
from annotation.templatetags.kept import MOST_KEPT, KeptNode

LOAD = "{% load kept i18n hit_page %}"


class Counted:
    """A value that counts how often it is written; all of them are equal."""

    def __init__(self) -> None:
        self.times = 0

    def __str__(self) -> str:
        self.times += 1
        return "written"

    def __hash__(self) -> int:
        return 1

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Counted)


def test_part_is_rendered_once_for_equal_values() -> None:
    template, first, second = Template(LOAD + "{% kept a=one %}<{{ a }}>{% endkept %}"), Counted(), Counted()
    assert [template.render(Context({"one": one})) for one in (first, second, first)] == ["<written>"] * 3
    assert (first.times, second.times) == (1, 0)


def test_part_is_rendered_for_each_language_and_value() -> None:
    template = Template(LOAD + "{% kept a=one %}{% translate 'Close' %} {{ a }}{% endkept %}")
    with override("de"):
        german = template.render(Context({"one": 1}))
    with override("en"):
        assert [template.render(Context({"one": one})) for one in (1, 2, 1)] == ["Close 1", "Close 2", "Close 1"]
    assert german != "Close 1"
    assert german.endswith(" 1")


@pytest.mark.parametrize(
    ("first", "second", "written"),
    [
        (mark_safe("<b>"), "<b>", "&lt;b&gt;"),
        ("<b>", mark_safe("<b>"), "<b>"),
        (1, True, "True"),
    ],
)
def test_equal_values_that_are_written_otherwise_are_told_apart(first: object, second: object, written: str) -> None:
    template = Template(LOAD + "{% kept a=one %}{{ a }}{% endkept %}")
    template.render(Context({"one": first}))
    assert template.render(Context({"one": second})) == written


def test_part_sees_nothing_that_it_is_not_given() -> None:
    template = Template(LOAD + "{% kept a=one %}[{{ a }}{{ secret }}{{ csrf_token }}]{% endkept %}{{ secret }}")
    assert template.render(Context({"one": 1, "secret": "rater", "csrf_token": "t"})) == "[1]rater"


def test_no_more_is_kept_than_allowed_and_the_latest_used_stays() -> None:
    template = Template(LOAD + "{% kept a=one %}{{ a }}{% endkept %}")
    (node,) = template.nodelist.get_nodes_by_type(KeptNode)
    always = Counted()
    for number in range(MOST_KEPT + 5):
        template.render(Context({"one": always}))
        assert template.render(Context({"one": number})) == str(number)
    assert len(node.kept) == MOST_KEPT
    assert always.times == 1


def test_value_without_a_name_is_refused() -> None:
    with pytest.raises(TemplateSyntaxError, match="kept takes named values only, not one"):
        Template(LOAD + "{% kept one %}{% endkept %}")


@pytest.mark.parametrize("name", ["hit", "save-vote", "save-second-vote", "lock", "flag", "return", "submit"])
def test_address_of_a_hit_is_the_one_that_django_writes(name: str) -> None:
    for key in ("abc", "Z-9_"):
        assert hit_address(name, key) == reverse(f"annotation:{name}", args=[key])
    try:
        set_script_prefix("/below/")
        assert hit_address(name, "abc") == reverse(f"annotation:{name}", args=["abc"])
        assert hit_address(name, "abc").startswith("/below/rate/")
    finally:
        set_script_prefix("/")


def test_times_are_written_in_utc() -> None:
    moment = datetime(2026, 3, 1, 1, 2, 3, 450000, tzinfo=timezone(timedelta(hours=2)))
    assert (clock(moment), clock(moment, "%H:%M")) == ("23:02:03", "23:02")
    assert datetime.fromisoformat(iso(moment)) == moment
    assert iso(moment) == "2026-02-28T23:02:03.450000+00:00"
    assert iso(moment) == moment.astimezone(UTC).isoformat()
