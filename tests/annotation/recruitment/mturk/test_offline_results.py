"""Results of MTurk's requester site, read back onto the same HITs."""

import pytest
from django.utils import timezone

from annotation.batches.services import set_batch_status
from annotation.core.errors import AnnotationError, BadFile, InvalidSelection
from annotation.models import Annotator, Assignment, Batch, Display, ImportRecord, Participant, Rating, Study
from annotation.privacy.erasing import erase_rater
from annotation.recruitment.mturk.offline_results import ImportCounts
from tests.annotation.recruitment.mturk.offline import (
    ask_all,
    export,
    make,
    nasty_study,
    read,
    result,
    stored_study,
    study,
    with_settings,
)
from tests.factories import claim, csv_file, make_annotator, rate

pytestmark = [pytest.mark.django_db, pytest.mark.slow]
__all__ = ["stored_study", "study"]


def reasons(*rows: dict[str, str]) -> list[str]:
    with pytest.raises(BadFile) as caught:
        read(*rows)
    assert Rating.objects.of_every_question().count() == Assignment.objects.count() == Annotator.objects.count() == 0
    return [str(line) for line in caught.value.lines]


# Reading back


def test_answers_come_back_in_study_order_on_the_same_hit(study: Study) -> None:
    rows, _, _ = export(study)

    taken = read(result(rows[0], answers="-1 0"))

    assert vars(taken) == {**dict.fromkeys(vars(ImportCounts()), 0), "added": 1}
    assignment = Assignment.objects.get()
    assert assignment.hit.key == rows[0]["hit"]
    assert (assignment.state, assignment.slot.number, assignment.work_seconds) == ("submitted", 1, 61.0)
    assert assignment.submitted_at is not None
    assert assignment.submitted_at.isoformat() == "2024-05-01T12:00:00+00:00"
    for display in assignment.displays.select_related("pair__generation_a", "pair__generation_b"):
        row, place = rows[0], display.position + 1
        left = display.pair.generation_a if display.a_is_left else display.pair.generation_b
        assert row[f"model1_summary{place}"] == left.text
        verdict = Rating.objects.of_question(0).get(display=display).verdict
        assert verdict == (0 if place == 2 else (-1 if row["id1"] == "1" else 1))


def test_reading_a_file_again_changes_nothing(study: Study) -> None:
    rows, _, _ = export(study)
    file = [result(rows[0]), result(rows[1], number=2), result(rows[0], "AW2")]
    read(*file)
    before = [list(model._base_manager.order_by("pk").values()) for model in (Assignment, Display, Rating, Annotator)]

    taken = read(*file)

    assert (taken.added, taken.unchanged) == (0, 3)
    after = [list(model._base_manager.order_by("pk").values()) for model in (Assignment, Display, Rating, Annotator)]
    assert after == before
    assert ImportRecord.objects.filter(kind="mturk-results").count() == 1


def test_a_later_file_adds_what_is_new(study: Study) -> None:
    rows, _, _ = export(study)
    read(result(rows[0]))

    taken = read(result(rows[0]), result(rows[0], "AW2"))

    assert (taken.added, taken.unchanged) == (1, 1)


def test_a_file_as_a_spreadsheet_saves_it_is_read() -> None:
    rows, _, _ = export(nasty_study())
    text = csv_file([result(rows[0])]).decode()

    taken = read(data=b"\xef\xbb\xbf" + text.replace("\r\n", "\n").replace("\n", "\r\n").encode(), slug="nasty")

    assert taken.added == 1


def test_what_comes_after_the_slots_are_full_is_stored_and_not_counted(study: Study) -> None:
    rows, _, _ = export(study)

    taken = read(*[result(rows[0], f"AW{number}") for number in range(3)])

    assert (taken.added, taken.surplus) == (3, 1)
    assert Assignment.objects.counted().count() == 2


def test_what_was_rejected_is_not_read(study: Study) -> None:
    rows, _, _ = export(study)

    taken = read(result(rows[0], answers="x x", AssignmentStatus="Rejected"), result(rows[0], "AW2"))

    assert (taken.skipped, taken.added) == (1, 1)


def test_what_is_rejected_later_is_excluded_and_its_slot_comes_free() -> None:
    rows, _, _ = export(make("other", raters=1))
    read(result(rows[0]), slug="other")

    taken = read(result(rows[0], AssignmentStatus="Rejected"), slug="other")
    again = read(result(rows[0], AssignmentStatus="Rejected"), result(rows[0], "AW2"), slug="other")

    assert (taken.rejected, again.rejected, again.added, again.surplus) == (1, 0, 1, 0)
    assert Assignment.objects.counted().get().annotator.participant.external_id == "AW2"
    assert Assignment.objects.get(excluded=True).exclusion_reason == "rejected on MTurk"


def test_a_worker_is_one_rater_in_all_hits_under_a_code_that_does_not_name_them(study: Study) -> None:
    rows, _, _ = export(study)

    read(result(rows[0], number=1), result(rows[1], number=2))

    rater = Annotator.objects.get()
    assert rater.assignments.count() == 2
    assert "AW1" not in rater.code
    assert rater.kind == "mturk"
    assert Participant.objects.get().external_id == "AW1"
    assert rater.consents.get().accepted


def test_a_worker_who_did_the_same_hit_twice_counts_once(study: Study) -> None:
    rows, _, _ = export(study)

    taken = read(result(rows[0], number=1), result(rows[0], number=2))

    assert (taken.added, taken.repeated) == (1, 1)
    assert Assignment.objects.counted().count() == 1


def test_a_worker_whose_data_were_deleted_is_not_read_again(study: Study) -> None:
    rows, _, _ = export(study)
    first, further = result(rows[0], number=1), result(rows[1], number=2)
    read(first)
    erase_rater(annotator=Annotator.objects.get(), by=None, at=timezone.now())

    taken = read(first, further)

    assert (taken.added, taken.unchanged, taken.erased) == (0, 0, 2)
    assert Annotator.objects.count() == 1
    assert not Participant.objects.filter(external_id="AW1").exists()


def test_nothing_is_stored_of_who_did_not_agree(study: Study) -> None:
    rows, _, _ = export(study)

    taken = read(result(rows[0], **{"Answer.consent": ""}))

    assert taken.without_consent == 1
    assert Annotator.objects.count() == 0


def test_ratings_given_here_and_there_share_the_slots(study: Study) -> None:
    Batch.objects.update(status="open")
    done = rate(claim(make_annotator(study)))
    set_batch_status(batch=study.batches.get(), status="paused")
    row = next(row for row in export(study)[0] if row["hit"] == done.hit.key)

    taken = read(result(row, "AW1"), result(row, "AW2"))

    assert (taken.added, taken.surplus) == (2, 1)
    assert Assignment.objects.counted().filter(hit=done.hit).count() == 2


# Bad lines


BAD_CELLS = [
    ({"Input.hit": "unknown"}, "the batch has no HIT 'unknown'"),
    ({"Input.model1_summary1": "other"}, "Input.model1_summary1 is not what was exported"),
    ({"Input.source": "other"}, "Input.source is not what was exported"),
    ({"Input.id1": "3"}, "Input.id1 is not what was exported"),
    ({"Answer.pref1": ""}, "Answer.pref1 is ''; it must be -1, 0 or 1"),
    ({"Answer.pref2": "2"}, "Answer.pref2 is '2'; it must be -1, 0 or 1"),
    ({"WorkerId": ""}, "WorkerId is ''"),
    ({"AssignmentId": "a b"}, "AssignmentId is 'a b'"),
    ({"WorkTimeInSeconds": "-3"}, "WorkTimeInSeconds is '-3', not a number of seconds"),
]


def test_a_bad_line_is_listed_and_nothing_is_stored(study: Study) -> None:
    rows, _, _ = export(study)

    for change, reason in BAD_CELLS:
        (told,) = reasons(result(rows[0], "AW0"), {**result(rows[0]), **change})

        assert told.startswith("line 3: "), change
        assert reason in told


def test_an_order_that_was_turned_round_is_noticed(study: Study) -> None:
    rows, _, _ = export(study)
    turned = {"1": "2", "2": "1"}[rows[0]["id1"]]

    assert reasons(result(rows[0], **{"Input.id1": turned})) == ["line 2: Input.id1 is not what was exported"]


def test_no_preference_is_a_bad_answer_where_it_was_not_offered(study: Study) -> None:
    rows, _, _ = export(with_settings(study, ties_allowed=False))

    assert "offers no" in reasons(result(rows[0], answers="0 1"))[0]


def test_an_assignment_twice_in_a_file_is_a_bad_line(study: Study) -> None:
    rows, _, _ = export(study)

    assert reasons(result(rows[0]), result(rows[0])) == ["line 3: assignment 3AW11 is on line 2 already"]


def test_a_missing_column_is_named(study: Study) -> None:
    rows, _, _ = export(study)

    for gone in ("WorkerId", "AssignmentId", "Input.hit", "Input.id2", "Answer.pref1", "Answer.consent"):
        row = {name: value for name, value in result(rows[0]).items() if name != gone}
        assert reasons(row) == [f"line 1: column {gone} is missing"]


def test_results_are_not_read_into_an_open_batch(study: Study) -> None:
    rows, _, _ = export(study)
    Batch.objects.update(status="open")

    with pytest.raises(InvalidSelection, match="pause it first"):
        read(result(rows[0]))


@pytest.mark.parametrize("data", [b"", b"\xff\xfe", b"a,b\n1\n", b'"x'])
def test_a_file_that_is_none_is_refused(study: Study, data: bytes) -> None:
    with pytest.raises(AnnotationError):
        read(data=data)


# Several questions, strengths, kinds of ties, reasons


def test_answers_to_every_question_are_turned_to_study_order(study: Study) -> None:
    study = ask_all(study, first_reason="optional")
    rows, _, _ = export(study)
    said = {
        "Answer.pref1_fluency": "0bad",
        "Answer.pref2_fluency": "1.0",
        "Answer.reason1": " It is clearer. ",
        "Answer.reason2": "",
    }

    assert read(result(rows[0], answers="-2 1", **said)).added == 1

    found = Rating.objects.of_every_question().order_by("display__position", "question").select_related("display")
    sides = [1 if one.display.a_is_left else -1 for one in found]
    assert [(one.question, one.verdict, one.strength, one.tie_kind, one.reason) for one in found] == [
        (0, -1 * sides[0], 2, "", "It is clearer."),
        (1, 0, None, "bad", ""),
        (0, 1 * sides[2], 1, "", ""),
        (1, 1 * sides[3], None, "", ""),
    ]


def test_reasons_that_are_needed_and_answers_of_other_questions_are_checked(study: Study) -> None:
    rows, _, _ = export(ask_all(study, first_reason="required", first_reason_min_length=5))
    fluent = {"Answer.pref1_fluency": "1", "Answer.pref2_fluency": "-1"}
    why = {"Answer.reason1": "Clear.", "Answer.reason2": "Short."}

    assert reasons(result(rows[0], **fluent)) == [
        "line 1: column Answer.reason1 is missing",
        "line 1: column Answer.reason2 is missing",
    ]
    assert reasons(result(rows[0], **why)) == [
        "line 1: column Answer.pref1_fluency is missing",
        "line 1: column Answer.pref2_fluency is missing",
    ]
    assert reasons(result(rows[0], **fluent, **{**why, "Answer.reason2": "So"})) == [
        "line 2: Answer.reason2 has 2 characters; this study needs 5 on every pair"
    ]
    assert reasons(result(rows[0], **why, **{**fluent, "Answer.pref1_fluency": "2"})) == [
        "line 2: Answer.pref1_fluency is '2'; it must be -1, 0, 0bad, 0good or 1"
    ]
    # A browser counts blanks, and two for a character beyond the basic plane.
    assert (
        read(result(rows[0], **fluent, **{**why, "Answer.reason1": " So  ", "Answer.reason2": "\U0001f600" * 3})).added
        == 1
    )
    assert list(Rating.objects.of_question(0).order_by("display__position").values_list("reason", flat=True)) == [
        "So",
        "\U0001f600" * 3,
    ]
