"""What a rater receives tells nothing of systems, sides and study, and hostile texts do nothing."""

import re
from typing import Any

import pytest
from django.test import Client
from django.utils import timezone

from annotation.annotators.consent import answer_consent
from annotation.importing.formats.study_file import InstanceRow
from annotation.members.accounts import grant_role, login_link
from annotation.models import Annotator, Assignment, Display, Rating, Study
from annotation.rating.votes import save_vote
from tests.annotation.rating.pages import HTMX, Forms, at_hit
from tests.factories import (
    NOON,
    add_instances,
    claim,
    instance_rows,
    make_annotator,
    make_batch,
    make_study,
    make_user,
    signed_in,
)

SECRETS = ("gpt-7-secretive", "llama-unseen", "hush-hush-study", "Hidden Title", "covert-batch", "dataset-incognito", "instance-undercover")  # fmt: skip
PAIRS = 3
ATTACK = "<script>alert('x')</script><img src=x onerror=alert(1)>\"'>{{ secret }}{% now 'Y' %}"
pytestmark = [pytest.mark.django_db, pytest.mark.slow]


def test_nothing_that_an_annotator_receives_tells_what_is_compared() -> None:
    systems = SECRETS[:2]
    study = make_study(SECRETS[2], title=SECRETS[3], instances=0)
    rows = [
        InstanceRow(n, f"{SECRETS[6]}-{n}", SECRETS[5], "A source.", {systems[0]: ["One.", "Two."], systems[1]: ["Three.", "Four."]})
        for n in (1, 2)
    ]  # fmt: skip
    add_instances(study, rows)
    make_batch(study, name=SECRETS[4], dataset=SECRETS[5], systems=systems)
    user = make_user("rater", "annotator", study=study)
    client = Client()
    received: list[str] = []

    def keep(response: Any) -> Any:
        for one in [*(hop for hop in getattr(response, "redirect_chain", [])), response]:
            if isinstance(one, tuple):
                received.append(one[0])
                continue
            received.extend([one.text, str(one.headers), str(one.cookies), one.request["PATH_INFO"]])
        return response

    link = login_link(user=user, base_url="http://testserver/")
    keep(client.get(link, follow=True))
    keep(client.post(link, follow=True))
    address = keep(client.get("/rate/")).headers["Location"]
    keep(client.get(address))
    keep(client.post(address, {}))
    address = keep(client.post(address, {"answer": "accept"}, follow=True)).redirect_chain[-1][0]
    for _ in range(2):
        page = keep(client.get(address))
        keep(client.post(f"{address}submit/"))
        for key in Forms(page.text).pairs:
            keep(client.post(f"{address}vote/", {"pair_key": key, "choice": "right"}, headers=HTMX))
            keep(client.post(f"{address}vote/", {"pair_key": key, "choice": "left"}, follow=True))
            keep(client.post(f"{address}vote/", {"pair_key": key, "choice": "gone"}, headers=HTMX))
        keep(client.post(f"{address}submit/", follow=True))
        keep(client.post(f"{address}vote/", {"pair_key": key, "choice": "left"}, headers=HTMX))
        address = keep(client.get("/rate/")).headers.get("Location", "")

    assert Assignment.objects.filter(state="submitted").count() == 2
    everything = "\n".join(received).lower()
    assert "a source." in everything
    # Parts of names, long enough never to turn up in a random token.
    told = (*SECRETS, "gpt-7", "llama-", "secretive", "unseen", "covert", "incognito", "undercover", "separab")
    assert [word for word in told if word.lower() in everything] == []


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
    client = signed_in(annotator)
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
        client = signed_in(grant_role(username=slug, role="annotator", place=study)[0])
        page = client.get("/rate/", follow=True)
        agreed = client.post(page.request["PATH_INFO"], {"answer": "accept"}, follow=True)
        assert agreed.status_code == 200
        seen.append({name: value for name, value in agreed.headers.items() if name != "Content-Length"})
    for headers in seen:
        headers.pop("Set-Cookie", None)
        headers.pop("X-Request-ID", None)  # random
        headers.pop("Expires", None)  # the present time: what no cache is to keep
    assert seen[0] == seen[1]


def test_what_a_page_says_does_not_depend_on_which_side_has_which_system(study: Study) -> None:
    """With the texts taken out, a page and its twin with all sides changed over are the same, byte for byte."""
    client, address, assignment = at_hit(study)
    for display in assignment.displays.select_related("pair"):
        save_vote(assignment=assignment, pair_key=display.pair.key, choice="left", at=timezone.now())

    def without_texts() -> str:
        text = re.sub(r'(name="(csrfmiddlewaretoken|page)" value|data-now)="[^"]+"', "", client.get(address).text)
        return re.sub(r"Text \d+ on news-\d+\.", "TEXT", text)

    before = without_texts()
    for display in assignment.displays.all():
        display.a_is_left = not display.a_is_left
        display.save()
    for rating in Rating.objects.all():
        rating.verdict = -rating.verdict
        rating.save()

    assert before.count("TEXT") == 4
    assert without_texts() == before


def test_ids_are_random_and_carry_no_number(study: Study) -> None:
    client, address, assignment = at_hit(study)
    keys = [*Forms(client.get(address).text).pairs, assignment.key, study.key]

    assert len(set(keys)) == len(keys)
    assert all(re.fullmatch(r"[\w-]{16}", key) for key in keys)
    text = client.get(address).text
    assert f"/{assignment.pk}/" not in text
    assert f'id="pair-{assignment.displays.all()[0].pk}"' not in text


def test_hostile_text_is_shown_and_never_run() -> None:
    study = make_study(
        "hostile", instances=0, question=ATTACK, source_label=ATTACK[:60], label_left="<b>L</b>", label_right="</h3>R",
        contact=ATTACK, guidelines=f"{ATTACK}\n\n[click](javascript:alert(1)) ![i](http://x/y.png) <iframe src=//x>",
        consent_text=f"{ATTACK}\n\n**bold** [ok](https://example.org)",
    )  # fmt: skip
    add_instances(study, [InstanceRow(1, "i", "d", ATTACK, {"a": [f"one {ATTACK}"], "b": [f"two {ATTACK}"]})])
    make_batch(study, dataset="d", systems=("a", "b"), pairs=1)
    client = signed_in(make_user("rater", "annotator", study=study))

    consent = client.get(f"/rate/consent/{study.key}/")
    answer_consent(annotator=Annotator.objects.get(), accepted=True, at=timezone.now())
    hit = client.get("/rate/", follow=True)
    (key,) = Forms(hit.text).pairs
    part = client.post(f"{hit.request['PATH_INFO']}vote/", {"pair_key": key, "choice": "left"}, headers=HTMX)

    for response in (consent, hit, part):
        text = response.text
        assert "<script>alert" not in text
        assert "<img" not in text
        assert "<iframe" not in text
        assert "onerror=alert(1)>" not in text
        assert "javascript:" not in re.sub(r"&lt;.*?&gt;", "", text).replace("[click](javascript:alert(1))", "")
    assert "&lt;script&gt;alert(&#x27;x&#x27;)" in hit.text
    assert "{{ secret }}" in hit.text
    assert "{% now &#x27;Y&#x27; %}" in hit.text
    assert "<b>L</b>" not in hit.text
    assert "<strong>bold</strong>" in consent.text
    assert 'href="https://example.org"' in consent.text
    assert "default-src 'self'" in hit.headers["Content-Security-Policy"]
