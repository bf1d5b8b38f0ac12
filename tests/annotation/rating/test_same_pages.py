"""Two studies that differ in the names of their systems alone: a rater is sent the same page, and the same headers."""

import re

import pytest
from django.test import Client

from annotation.members.accounts import grant_role
from annotation.models import Display
from tests.factories import NOON, add_instances, claim, instance_rows, make_annotator, make_batch, make_study

pytestmark = pytest.mark.django_db

PAIRS = 3


def page_of(slug: str, systems: tuple[str, str], rater: str) -> str:
    """Return a HIT's page, with what is random in it made the same: keys, tokens, the time."""
    study = make_study(slug, instances=0)
    texts = instance_rows(instances=1, k=PAIRS, systems=("alpha", "beta"))[0].generations
    row = instance_rows(instances=1, k=PAIRS)[0]
    object.__setattr__(row, "generations", dict(zip(systems, texts.values(), strict=True)))
    add_instances(study, [row])
    make_batch(study, systems=systems, pairs=PAIRS)
    annotator = make_annotator(study, rater)
    assignment = claim(annotator, NOON)
    for display in Display.objects.filter(assignment=assignment):  # move the places out of the way, then set them
        Display.objects.filter(pk=display.pk).update(position=100 + display.pair.index)
    for display in Display.objects.filter(assignment=assignment):
        place = display.position - 100
        Display.objects.filter(pk=display.pk).update(position=place, a_is_left=place % 2 == 0)
    client = Client()
    client.force_login(annotator.user, backend="django.contrib.auth.backends.ModelBackend")
    response = client.get(f"/rate/hit/{assignment.key}/")
    assert response.status_code == 200
    html = response.content.decode()
    for number, key in enumerate([assignment.key, *assignment.displays.values_list("pair__key", flat=True)]):
        html = html.replace(key, f"KEY{number}")
    html = re.sub(
        r'(csrfmiddlewaretoken" value|name="(?:page|owner)" value|data-owner|data-now|data-expires)="[^"]*"',
        r"\1",
        html,
    )
    return re.sub(r"until [\d:]+ UTC", "", html)


def test_a_page_is_the_same_to_the_byte_whatever_the_systems_are_called() -> None:
    short = page_of("short", ("a", "b"), "ann")
    long = page_of("a-much-longer-name", ("a" * 150, "instruct-" * 20), "ben")
    swapped = page_of("swapped", ("b", "a"), "cleo")
    assert "Text 0 on" in short
    assert long == short
    assert swapped == short


def test_headers_do_not_differ_between_hits() -> None:
    seen = []
    for slug, systems in (("short", ("a", "b")), ("long", ("a" * 150, "b" * 150))):
        study = make_study(slug, systems=systems, k=PAIRS)
        make_batch(study, pairs=PAIRS, systems=systems)
        client = Client()
        client.force_login(grant_role(username=slug, role="annotator", study=study)[0], "sesame.backends.ModelBackend")
        page = client.get("/rate/", follow=True)
        agreed = client.post(page.request["PATH_INFO"], {"answer": "accept"}, follow=True)
        assert agreed.status_code == 200
        seen.append({name: value for name, value in agreed.headers.items() if name != "Content-Length"})
    for headers in seen:
        headers.pop("Set-Cookie", None)
        headers.pop("X-Request-ID", None)  # random
        headers.pop("Expires", None)  # the present time: what no cache is to keep
    assert seen[0] == seen[1]
