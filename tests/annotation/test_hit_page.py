"""Addresses and times as a HIT's page writes them."""

from datetime import UTC, datetime, timedelta, timezone

import pytest
from django.urls import reverse, set_script_prefix

from annotation.templatetags.hit_page import clock, hit_address, iso


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
