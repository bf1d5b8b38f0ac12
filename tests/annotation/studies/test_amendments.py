"""Changes while rating is under way: a reason, a dated row in the log, and a line with the results."""

import json
from decimal import Decimal
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.core.management import CommandError, call_command

from annotation.annotators.consent import withdraw
from annotation.core.errors import AmendmentNeeded
from annotation.models import Annotator, Batch, Event, Study
from annotation.studies.amendments import rating_has_begun
from annotation.studies.log import log, shown_with_results
from annotation.studies.services import save_settings
from reporting.findings.text import as_text
from tests.annotation.studies.test_study_settings import form_data
from tests.factories import NOON, claim, make_annotator, make_batch, make_study, make_user, output_of, signed_in
from tests.reporting.builders import findings

pytestmark = [pytest.mark.django_db, pytest.mark.slow]


def store() -> Study:
    """Make a study in which a HIT was given out, without a vote yet."""
    study = make_study(instances=2)
    make_batch(study)
    claim(make_annotator(study))
    return study


def amendments() -> list[Event]:
    return list(Event.objects.filter(kind=Event.Kind.AMENDMENT))


# When rating has begun


def test_rating_begins_with_the_first_hit_that_is_given_out() -> None:
    study = make_study("own", instances=2)
    study.instances.filter(instance_id="news-1").update(gold={"better": "alpha"})
    make_batch(study, name="q", purpose="qualification", select="ids", instance_ids=["news-1"])
    make_batch(study)
    annotator = make_annotator(study, "rosa")
    assert claim(annotator).purpose == "qualification"
    assert not rating_has_begun(study)

    other = make_study("other")
    make_batch(other)
    claim(make_annotator(other, "elsewhere"))
    assert (rating_has_begun(other), rating_has_begun(study)) == (True, False)

    study.batches.filter(name="q").update(status=Batch.Status.CLOSED)
    annotator.assignments.all().delete()
    claim(annotator)
    assert rating_has_begun(study)


def test_imported_ratings_do_not_bind_a_study(study: Study) -> None:
    study.batches.update(origin=Batch.Origin.IMPORTED)
    assert not rating_has_begun(study)
    assert save_settings(study=study, question="Which is clearer?").question == "Which is clearer?"
    assert amendments() == []


# The service


def test_a_change_under_way_is_kept_with_its_reason_before_and_after(study: Study) -> None:
    user = User.objects.create_user("manager")

    save_settings(
        study=study, by=user, at=NOON, reason=" Raters asked what “better” means. ", title="New title",
        question="Which is clearer?", pay_per_hit=Decimal("1.50"), currency="EUR", language="",
    )  # fmt: skip

    [event] = amendments()
    assert (event.reason, event.by, event.happened_at) == ("Raters asked what “better” means.", user, NOON)
    assert event.changes == {
        "title": ["study", "New title"],
        "question": ["Which one is better?", "Which is clearer?"],
        "pay_per_hit": [None, "1.50"],
        "currency": ["", "EUR"],
    }


@pytest.mark.parametrize("reason", ["", " \n", "\u200b"])
def test_a_change_without_a_reason_is_refused_and_nothing_is_stored(study: Study, reason: str) -> None:
    with pytest.raises(AmendmentNeeded, match="contact, guidelines: rating has begun") as refusal:
        save_settings(study=study, reason=reason, title="Other", guidelines="Look twice.", contact="me")

    assert refusal.value.fields == ["contact", "guidelines"]
    study.refresh_from_db()
    assert (study.title, study.guidelines) == ("study", "")
    assert amendments() == []


def test_the_title_and_what_stays_the_same_need_no_reason(study: Study) -> None:
    saved = save_settings(study=study, title="Other", question="Which one is better?\r\n", ties_allowed=True)

    assert saved.title == "Other"
    assert amendments() == []


# The page and the command


def test_the_page_asks_for_a_reason_only_once_rating_has_begun() -> None:
    study = make_study("own", instances=1)
    make_batch(study)
    client = signed_in(make_user("manager", "study-admin"))
    assert "amendment_reason" not in client.get("/studies/own/settings/").text

    claim(make_annotator(study))
    page = client.get("/studies/own/settings/").text
    assert page.count('name="amendment_reason"') == 1
    assert "Rating has begun." in page

    refused = client.post(
        "/studies/own/settings/", form_data(Study.objects.get(slug="own"), question="Which is clearer?")
    )
    assert refused.status_code == 422
    assert "question: rating has begun" in refused.context["form"].errors["amendment_reason"][0]
    assert "Which is clearer?" in refused.text

    sent = form_data(Study.objects.get(slug="own"), question="Which is clearer?", amendment_reason="Too vague.")
    assert client.post("/studies/own/settings/", sent).status_code == 302
    [event] = amendments()
    assert (event.reason, event.by.username) == ("Too vague.", "manager")  # type: ignore[union-attr]
    assert (
        client.post("/studies/own/settings/", form_data(Study.objects.get(slug="own"), title="New title")).status_code
        == 302
    )
    assert len(amendments()) == 1


def test_the_log_takes_a_fixed_number_of_queries(study: Study, django_assert_max_num_queries: Any) -> None:
    client = signed_in(make_user("reader", "researcher", study=study))
    rater = study.annotators.get()
    about: dict[str, Any] = {"batch": study.batches.get(), "annotator": rater, "assignment": rater.assignments.get()}
    log(study=study, kind="released", by=User.objects.create_user("u0"), **about)
    client.get("/studies/study/log/")
    with django_assert_max_num_queries(15) as few:
        client.get("/studies/study/log/")
    for number in range(1, 51):
        log(study=study, kind="released", by=User.objects.create_user(f"u{number}"), **about)
    with django_assert_max_num_queries(len(few)):
        page = client.get("/studies/study/log/")
    assert "Page 1 of 2" in page.text


def test_a_reason_from_a_shell(study: Study, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(CommandError, match="contact: rating has begun"):
        call_command("configure_study", "study", "contact=me")

    call_command("configure_study", "study", "contact=me", "--reason", "Asked for.")
    assert capsys.readouterr().out.splitlines() == [
        "contact: nothing → me",
        "an amendment: kept in the study's log and shown with the results",
    ]
    call_command(
        "configure_study", "study", "contact=us", "pay_per_hit=2", "currency=eur", "--reason", "x", "--format", "json"
    )
    assert json.loads(capsys.readouterr().out) == {
        "study": "study",
        "changed": {"contact": ["me", "us"], "pay_per_hit": [None, "2"], "currency": ["", "EUR"]},
        "amendment": True,
    }
    assert json.loads(output_of("configure_study", "study", "title=Other", "--format", "json"))["amendment"] is False
    assert len(amendments()) == 2


# With the results


def test_results_list_what_changed_how_they_came_about(study: Study) -> None:
    batch, rater = study.batches.get(), study.annotators.get()
    changes = {"question": "Which is clearer?", "guidelines": "word " * 100, "by": User.objects.create_user("jane.doe")}
    save_settings(study=study, at=NOON, reason="Too\x1bvague.", **changes)
    log(study=study, kind="extended", batch=batch, at=NOON, changes={"raters_per_hit": [2, 3], "hits": 4})
    log(study=study, kind="excluded", annotator=rater, at=NOON, reason="Clicked through.")
    log(study=study, kind="rejected", assignment=rater.assignments.get(), at=NOON)
    log(study=study, kind="paused", batch=batch, at=NOON)

    listed = findings(study)["amendments"]

    assert [(one["kind"], one["at"], one["reason"]) for one in listed] == [
        ("amendment", "2024-05-01T12:00:00+00:00", "Too\x1bvague."),
        ("extended", "2024-05-01T12:00:00+00:00", ""),
        ("excluded", "2024-05-01T12:00:00+00:00", "Clicked through."),
        ("rejected", "2024-05-01T12:00:00+00:00", ""),
    ]
    told = [one["what"] for one in listed]
    assert len(told[0]) < 400
    assert told[1] == "batch batch; hits: 4; raters_per_hit: 2 → 3"
    assert told[2] == f"rater {rater.code}"
    assert told[3].startswith(f"rater {rater.code}; HIT ")
    assert "jane.doe" not in json.dumps(findings(study))
    text = as_text(findings(study))
    assert "\x1b" not in text
    page = signed_in(make_user("reader", "researcher", study=study)).get("/studies/study/findings/").text
    assert "Rater excluded" in page


def test_nothing_about_who_has_withdrawn_is_shown(study: Study) -> None:
    rater: Annotator = study.annotators.get()
    log(study=study, kind="excluded", annotator=rater, reason="By rater.")
    log(study=study, kind="rejected", assignment=rater.assignments.get(), reason="By assignment.")
    assert len(shown_with_results(study)) == 2

    withdraw(annotator=rater, at=NOON)

    assert shown_with_results(study) == []
    page = signed_in(make_user("reader", "researcher", study=study)).get("/studies/study/log/").text
    assert "By rater." not in page
    assert "By assignment." not in page
    assert Event.objects.filter(kind__in=["excluded", "rejected"]).count() == 2
