"""A text is replaced; what was given on it is listed and stays."""

import json
from hashlib import sha256
from typing import Any

import pytest
from django.urls import reverse

from annotation.core.errors import Unacceptable
from annotation.models import Alignment, Event, Generation, Rating, Study
from annotation.separability.services import compute_separability
from judging.models import Judgment
from reporting.core.data_version import version_of
from reporting.corrections.replacing import replace_text
from tests.factories import claim, make_annotator, make_batch, make_study, rate
from tests.judging.builders import make_judge
from tests.reporting.corrections.doors import correct, each_door, in_turn

pytestmark = [pytest.mark.django_db, pytest.mark.engine, pytest.mark.slow]

OF_SYSTEM = {"instance": "news-1", "system": "alpha", "index": 1}


def store() -> Study:
    """Two ratings of one rater and a judgment on instance news-1."""
    study = make_study(instances=1)
    make_batch(study, pairs=2)
    rate(claim(make_annotator(study)))
    run = study.judge_runs.create(judge=make_judge(), status="done")
    pair = study.instances.get().matchups.get().pairs.get(index=1)
    Judgment.objects.create(run=run, pair=pair, order="ab", status="parsed", verdict=1)
    return study


@each_door
def test_a_text_is_replaced_and_what_was_given_on_it_listed(study: Study, door: str) -> None:
    old = Generation.objects.get(system__name="alpha", index=1).text
    before = version_of(study)

    outlook = correct(door, study, "replace-text", {**OF_SYSTEM, "text": "New\r\ntext."}, preview=True)
    assert (outlook.made, outlook.effects) == (False, ["1 rating", "1 judgment"])
    assert correct(door, study, "replace-text", {**OF_SYSTEM, "text": "New\r\ntext.", "reason": "typo"}).made

    new = Generation.objects.get(system__name="alpha", index=1).text
    assert new == "New\ntext."
    assert Rating.objects.count() == 2
    event = study.events.get(kind=Event.Kind.REPLACED)
    hashes = [sha256(text.encode()).hexdigest() for text in (old, new)]
    assert event.changes == {
        "instance": "news-1",
        "system": "alpha",
        "text": 1,
        "sha256": hashes,
        "characters": [len(old), len(new)],
        "ratings": 1,
        "judgments": 1,
    }
    assert old not in str(event.changes)
    assert version_of(study) != before


@each_door
def test_a_source_is_replaced(study: Study, door: str) -> None:
    outlook = correct(door, study, "replace-text", {"instance": "news-1", "text": "Other."}, preview=True)
    assert outlook.effects == ["2 ratings", "1 judgment"]
    assert correct(door, study, "replace-text", {"instance": "news-1", "text": ""}).made

    assert study.instances.get().source == ""


@pytest.mark.parametrize(
    ("door", "sent", "part"),
    in_turn(
        [
            ({"instance": "news-9", "text": "x"}, "no instance news-9"),
            ({**OF_SYSTEM, "index": 7, "text": "x"}, "alpha 0, alpha 1"),
            ({"instance": "news-1", "text": "Source of news-1."}, "already"),
        ]
    ),
)
def test_what_is_not_there_or_the_same_is_refused(study: Study, door: str, sent: dict[str, Any], part: str) -> None:
    outcome = correct(door, study, "replace-text", sent)

    assert (outcome.made, part in outcome.text) == (False, True), outcome.text


@pytest.mark.parametrize(("door", "busy"), in_turn([("rater",), ("judge",), ("job",)]))
def test_nobody_sees_one_text_and_is_counted_for_the_other(study: Study, door: str, busy: str) -> None:
    if busy == "rater":
        claim(make_annotator(study, "second"))
    elif busy == "judge":
        study.judge_runs.update(status="running")
    else:
        study.made_files.create(kind="bundle", status="queued")

    assert not correct(door, study, "replace-text", {**OF_SYSTEM, "text": "x"}).made
    assert not study.events.filter(kind=Event.Kind.REPLACED).exists()


def test_separability_of_the_old_text_goes_and_is_computed_again(study: Study) -> None:
    Generation.objects.filter(system__name="beta", index=0).update(text="Something else")
    compute_separability(study=study, similarity="rouge1", group="study")
    assert Alignment.objects.count() == 1

    outlook = correct("page", study, "replace-text", {**OF_SYSTEM, "text": "x"}, preview=True)
    assert "1 separability value" in outlook.effects
    assert correct("page", study, "replace-text", {**OF_SYSTEM, "text": "x"}).made

    assert not Alignment.objects.exists()
    compute_separability(study=study, similarity="rouge1", group="study")
    assert Alignment.objects.count() == 1


def test_the_page_of_an_instance_leads_to_the_text(study: Study, manager: Any) -> None:
    instance = study.instances.get()
    page = manager.get(reverse("annotation:instance", args=[study.slug, instance.pk])).content.decode()
    link = "correct/replace-text/?instance=news-1&amp;system=alpha&amp;index=1"

    assert link in page
    form = manager.get(f"/studies/{study.slug}/{link.replace('&amp;', '&')}").context["form"]
    assert form["text"].value() == Generation.objects.get(system__name="alpha", index=1).text


def test_a_conversation_is_replaced_by_messages_or_by_a_text(study: Study) -> None:
    said = [{"role": "user", "content": "Hi."}, {"role": "assistant", "content": "Hello."}]
    found = Generation.objects.get(system__name="alpha", index=1)
    Generation.objects.filter(pk=found.pk).update(text="User: Hi", messages=json.dumps(said[:1]))
    with pytest.raises(Unacceptable):
        replace_text(study=study, target=found, text='[{"role": "nobody", "content": ""}]')
    for text, transcript, messages in (
        (json.dumps(said), "User: Hi.\n\nAssistant: Hello.", json.dumps(said)),
        ("plain", "plain", None),
        (json.dumps(said), json.dumps(said), None),  # a text stays one, whatever it says
    ):
        replace_text(study=study, target=found, text=text)
        found.refresh_from_db()
        assert (found.text, found.messages) == (transcript, messages)
