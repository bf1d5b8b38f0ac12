"""The archive: nothing is given out of it, and everything in it can be read."""

import json

import pytest
from django.contrib.auth.models import User
from django.core.management import call_command

from annotation.core.errors import ClaimRefused
from annotation.models import Event, Study
from annotation.rating.votes import submit_assignment
from annotation.studies.services import archive_study, restore_study
from reporting.exports.files import export_lines
from tests.factories import NOON, claim, make_annotator, make_batch, make_study, make_user, output_of, rate, signed_in

pytestmark = [pytest.mark.django_db, pytest.mark.engine, pytest.mark.slow]

ARCHIVE = "/studies/study/archive/"


def store() -> Study:
    """A study that is under way: two HITs, one of them submitted."""
    study = make_study(instances=2, pairs_per_hit=2, title="First")
    make_batch(study)
    rate(claim(make_annotator(study)))
    return study


def test_nothing_of_an_archived_study_is_given_out_and_work_under_way_is_finished(study: Study) -> None:
    under_way = claim(make_annotator(study, "second"))

    assert archive_study(study=study, at=NOON)

    with pytest.raises(ClaimRefused):
        claim(make_annotator(study, "third"))
    assert rate(under_way, submit=False)
    assert submit_assignment(assignment=under_way, at=NOON).state == "submitted"
    assert study.batches.get().status == "open"
    assert restore_study(study=study)
    assert claim(make_annotator(study, "third"))


def test_the_archive_is_entered_and_left_once_each_and_logged(study: Study) -> None:
    user = User.objects.create_user("manager")

    done = [
        archive_study(study=study, by=user, reason=" Finished. ", at=NOON),
        archive_study(study=study, by=user),
        restore_study(study=study, by=user),
        restore_study(study=study, by=user),
    ]

    assert done == [True, False, True, False]
    events = Event.objects.filter(kind__in=["archived", "restored"])
    assert [(event.kind, event.reason, event.by) for event in events.order_by("pk")] == [
        ("archived", "Finished.", user),
        ("restored", "", user),
    ]
    assert events.get(kind="archived").happened_at == NOON


@pytest.mark.any_engine
def test_an_archived_study_leaves_the_list_and_can_still_be_read_and_exported(study: Study) -> None:
    make_study("kept", instances=0)
    client = signed_in(make_user("reader", "researcher"))
    assert "?archived=1" not in client.get("/studies/").text
    rows = len(list(export_lines(study, "ratings", "csv")))

    archive_study(study=study)

    page = client.get("/studies/").text
    assert 'href="/studies/kept/"' in page
    assert 'href="/studies/study/"' not in page
    assert "Show 1 study in the archive" in page
    archived = client.get("/studies/", {"archived": "1"}).text
    assert 'href="/studies/study/"' in archived
    assert 'href="/studies/kept/"' not in archived
    for place in ("", "findings/", "instances/", "log/", "export/ratings.csv"):
        assert client.get(f"/studies/study/{place}").status_code == 200
    assert len(list(export_lines(study, "ratings", "csv"))) == rows > 1


@pytest.mark.any_engine
def test_the_page_wants_a_confirmation(study: Study) -> None:
    client = signed_in(make_user("manager", "study-admin"))

    refused = client.post(ARCHIVE, {"reason": "Done."})
    assert (refused.status_code, list(refused.context["archive_form"].errors)) == (422, ["confirmed"])
    assert ">\nDone.</textarea>" in refused.text
    study.refresh_from_db()
    assert study.archived_at is None

    page = client.post(ARCHIVE, {"reason": "Done.", "confirmed": "1"}, follow=True)
    study.refresh_from_db()
    assert study.archived_at is not None
    assert "batches/new/" not in page.text
    assert Event.objects.get(kind="archived").reason == "Done."

    client.post(ARCHIVE, {"restore": "1"})
    study.refresh_from_db()
    assert study.archived_at is None
    too_long = client.post(ARCHIVE, {"confirmed": "1", "reason": "x" * 2001})
    assert (too_long.status_code, list(too_long.context["archive_form"].errors)) == (422, ["reason"])


@pytest.mark.any_engine
def test_the_archive_from_a_shell(study: Study, capsys: pytest.CaptureFixture[str]) -> None:
    for arguments in (["--reason", "Done."], [], ["--restore"]):
        call_command("archive_study", "study", *arguments)
    assert capsys.readouterr().out.splitlines() == [
        "study study is now in the archive",
        "study study is already in the archive",
        "study study is now in use",
    ]
    assert json.loads(output_of("archive_study", "study", "--format", "json")) == {
        "study": "study",
        "archived": True,
        "changed": True,
    }
    assert Event.objects.filter(kind="archived").first().reason == "Done."  # type: ignore[union-attr]
