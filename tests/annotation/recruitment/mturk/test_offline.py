"""A batch as files for MTurk's requester site, and its results read back onto the same HITs."""

import csv
import html
import io
import json
import re
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from django.utils import timezone

from annotation.batches.services import set_batch_status
from annotation.core.errors import AnnotationError, BadFile, InvalidSelection, UnknownName
from annotation.importing.formats.mturk import parse_mturk
from annotation.importing.formats.study_file import InstanceRow
from annotation.models import Annotator, Assignment, Batch, Display, ImportRecord, Participant, Rating, Study
from annotation.privacy.erasing import erase_rater
from annotation.recruitment.mturk.export import Sheet, export_batch, fill
from annotation.recruitment.mturk.offline_results import ImportCounts, import_results
from annotation.recruitment.mturk.sheet import cell
from tests.factories import (
    add_instances,
    ask_more,
    claim,
    criterion,
    csv_file,
    make_annotator,
    make_batch,
    make_study,
    rate,
)

pytestmark = [pytest.mark.django_db, pytest.mark.slow]
NASTY = '=1+1 ${model2_summary1} </div><script>alert("x")</script> & "q" \r\nsecond, line\n\ttab 😀 \x01 $5 '


def make(*, pairs: int = 2, raters: int = 2, instances: int = 3, status: str = "paused", **settings: Any) -> Study:
    """Make a study with one batch that is not open."""
    study = make_study(instances=instances, k=2, **settings)
    batch = make_batch(study, pairs=pairs, raters=raters)
    Batch.objects.filter(pk=batch.pk).update(status=status)
    return study


def export(study: Study) -> tuple[list[dict[str, str]], str, Sheet]:
    sheet = export_batch(study=study, name="batch")
    rows = list(csv.DictReader(io.StringIO(sheet.csv.decode(), newline="")))
    return rows, sheet.page.decode(), sheet


def result(
    row: dict[str, str], worker: str = "AW1", number: int = 1, answers: str = "-1 1", **changes: str
) -> dict[str, str]:
    """Write a row as the requester site exports it."""
    given = {f"Input.{name}": value for name, value in row.items()}
    told = {f"Answer.pref{place}": answer for place, answer in enumerate(answers.split(), start=1)}
    return {
        "HITId": "3HIT",
        "AssignmentId": f"3{worker}{number}",
        "WorkerId": worker,
        "AssignmentStatus": "Submitted",
        "SubmitTime": "Wed May 01 05:00:00 PDT 2024",
        "WorkTimeInSeconds": "61",
        **given,
        **told,
        "Answer.consent": "yes",
        **changes,
    }


def read(*rows: dict[str, str], data: bytes | None = None) -> ImportCounts:
    return import_results(
        data=csv_file(rows) if data is None else data,
        file_name="results.csv",
        slug="study",
        name="batch",
        at=timezone.now(),
    )


def reasons(*rows: dict[str, str]) -> list[str]:
    with pytest.raises(BadFile) as caught:
        read(*rows)
    assert Rating.objects.of_every_question().count() == Assignment.objects.count() == Annotator.objects.count() == 0
    return [str(line) for line in caught.value.lines]


# What is written


def test_a_row_holds_what_the_results_import_reads_and_the_opaque_key() -> None:
    study = make()

    rows, _, sheet = export(study)

    assert list(rows[0]) == [
        *("hit", "source", "model1_summary1", "model2_summary1", "id1", "model1_summary2", "model2_summary2", "id2")
    ]
    assert [row["hit"] for row in rows] == list(
        study.batches.get().hits.order_by("position").values_list("key", flat=True)
    )
    assert (sheet.hits, sheet.assignments, sheet.seed) == (3, 2, 1)
    assert sheet.csv.startswith(b"hit,")


def test_the_columns_are_those_of_the_existing_import() -> None:
    rows, _, _ = export(make())

    (parsed,) = parse_mturk(csv_file([result(rows[0])]), "f.csv")

    assert [pair.first_is_1 for pair in parsed.pairs] == [rows[0][f"id{place}"] == "1" for place in (1, 2)]


def test_the_id_says_whose_text_is_shown_first() -> None:
    study = make()
    alphas = set(study.systems.get(name="alpha").generations.values_list("text", flat=True))

    for row in export(study)[0]:
        for place in ("1", "2"):
            assert (row[f"model1_summary{place}"] in alphas) == (row[f"id{place}"] == "1")
            assert (row[f"model2_summary{place}"] in alphas) == (row[f"id{place}"] == "2")


def test_sides_are_balanced_and_the_same_at_each_export() -> None:
    study = make(instances=20)

    first, second = export(study)[2], export(study)[2]

    assert (first.csv, first.page) == (second.csv, second.page)
    firsts = [row["id1"] for row in export(study)[0]]
    assert 3 < firsts.count("1") < 17
    assert all(row["id1"] != row["id2"] for row in export(study)[0])


def test_another_seed_draws_other_sides() -> None:
    study = make(instances=20)
    before = export(study)[2].csv
    Batch.objects.update(seed=2)

    assert export(study)[2].csv != before


def test_hits_that_are_full_are_left_out() -> None:
    study = make(status="open", raters=1)
    rate(claim(make_annotator(study)))
    set_batch_status(batch=study.batches.get(), status="paused")

    rows, _, _ = export(study)

    assert len(rows) == 2


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"status": "open"}, "pause it first"),
        ({"purpose": "gold"}, "hidden checks"),
        ({"origin": "imported"}, "imported"),
    ],
)
def test_a_batch_that_cannot_be_rated_there_is_refused(change: dict[str, str], told: str) -> None:
    study = make()
    Batch.objects.update(**change)

    with pytest.raises(InvalidSelection, match=told):
        export(study)


def test_a_second_stage_cannot_be_shown_there() -> None:
    study = make()
    Study.objects.update(protocol="two-stage", arms=["none"])

    with pytest.raises(InvalidSelection, match="second stage"):
        export(Study.objects.get(pk=study.pk))


def test_an_unknown_batch_is_named() -> None:
    with pytest.raises(UnknownName, match="'other'"):
        export_batch(study=make(), name="other")


# The page


class _Page(HTMLParser):
    """Collects a page's elements and inputs."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.inputs: list[dict[str, str | None]] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        if tag == "input":
            self.inputs.append(dict(attrs))


def test_the_page_uses_the_texts_and_neither_who_wrote_them_nor_the_key() -> None:
    _, page, _ = export(make())

    assert set(re.findall(r"\$\{(\w+)\}", page)) == {
        *("source", "model1_summary1", "model2_summary1", "model1_summary2", "model2_summary2")
    }
    assert "alpha" not in page
    assert "beta" not in page


def test_the_page_asks_for_every_answer_and_for_consent() -> None:
    _, page, _ = export(make())

    inputs = _Page(page).inputs
    assert [(one["name"], one["value"]) for one in inputs] == [
        ("consent", "yes"),
        *[(f"pref{place}", value) for place in (1, 2) for value in ("-1", "0", "1")],
    ]
    assert all("required" in one for one in inputs)


def test_the_page_offers_no_preference_only_where_the_study_does() -> None:
    _, page, _ = export(make(ties_allowed=False))

    assert {one["value"] for one in _Page(page).inputs if one["name"] == "pref1"} == {"-1", "1"}


def test_the_page_stands_alone_inside_mturks_form() -> None:
    _, page, _ = export(make())

    tags = _Page(page).tags
    assert not {"form", "script", "link", "img", "iframe"} & set(tags)
    assert "http" not in page


def test_the_studys_words_are_escaped_and_begin_no_placeholder() -> None:
    study = make(
        question="<b>Which</b> ${id1}?",
        guidelines="Costs ${id1} <script>x</script>",
        label_left="L ${hit}",
        contact="a<b",
    )

    _, page, _ = export(study)

    assert "id1" not in re.findall(r"\$\{(\w+)\}", page)
    assert "&lt;b&gt;Which&lt;/b&gt; &#36;{id1}?" in page
    assert "<script" not in page
    assert "a&lt;b" in page


def nasty_study() -> Study:
    study = make_study(instances=0)
    row = InstanceRow(
        number=1,
        instance_id="n",
        dataset="news",
        source=NASTY,
        generations={"alpha": [NASTY, "-2"], "beta": ["@x${source}", "+y\rz"]},
    )
    add_instances(study, [row])
    batch = make_batch(study, raters=1)
    set_batch_status(batch=batch, status="paused")
    return study


def test_no_text_breaks_out_of_the_page_or_fills_another_placeholder() -> None:
    rows, page, _ = export(nasty_study())

    filled = fill(page, rows[0])

    assert "${" not in filled
    assert _Page(filled).tags == _Page(page).tags
    assert html.unescape(filled).count('<script>alert("x")</script>') == 2
    assert "alpha" not in filled


def test_no_cell_holds_a_line_break_a_formula_or_a_character_that_mturk_refuses() -> None:
    rows, _, sheet = export(nasty_study())

    for value in rows[0].values():
        assert not re.search(r"[\n\r\x00-\x08]|[^\u0000-\uffff]", value)
        assert value[0] not in "=+-@"
        assert value == value.strip()
    assert sheet.csv.count(b"\n") == 2


@pytest.mark.parametrize(
    ("text", "written"),
    [
        ("a", "a"),
        ("", ""),
        ("a\r\nb\rc\n", "a&#10;b&#10;c&#10;"),
        ("=1", "&#61;1"),
        (" a ", "&#32;a&#32;"),
        ("<&>\"'", "&lt;&amp;&gt;&quot;&#x27;"),
        ("${x}", "&#36;{x}"),
        ("😀", "&#128512;"),
        ("é漢", "é漢"),
        ("&amp;", "&amp;amp;"),
    ],
)
def test_a_text_becomes_html_that_shows_it(text: str, written: str) -> None:
    assert cell(text) == written
    assert html.unescape(written) == text.replace("\r\n", "\n").replace("\r", "\n")


def test_markdown_is_rendered_where_the_study_does_so() -> None:
    study = make(render_markdown=True)
    study.systems.get(name="alpha").generations.update(text="**bold** ${hit}\n\n- one <script>x</script>")

    rows, page, _ = export(study)

    filled = fill(page, rows[0])
    assert "<strong>bold</strong>" in filled
    assert "<script" not in filled
    assert "${" not in filled


def test_a_page_that_mturk_will_not_take_is_named() -> None:
    study = make(instances=2)
    instance = study.instances.first()
    assert instance is not None
    instance.source = "x" * 70_000
    instance.save()

    sheet = export(study)[2]

    assert sheet.too_long == [study.batches.get().hits.get(matchup__instance=instance).key]


# Reading back


def test_answers_come_back_in_study_order_on_the_same_hit() -> None:
    study = make()
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


def test_reading_a_file_again_changes_nothing() -> None:
    rows, _, _ = export(make())
    file = [result(rows[0]), result(rows[1], number=2), result(rows[0], "AW2")]
    read(*file)
    before = [list(model._base_manager.order_by("pk").values()) for model in (Assignment, Display, Rating, Annotator)]

    taken = read(*file)

    assert (taken.added, taken.unchanged) == (0, 3)
    after = [list(model._base_manager.order_by("pk").values()) for model in (Assignment, Display, Rating, Annotator)]
    assert after == before
    assert ImportRecord.objects.filter(kind="mturk-results").count() == 1


def test_a_later_file_adds_what_is_new() -> None:
    rows, _, _ = export(make())
    read(result(rows[0]))

    taken = read(result(rows[0]), result(rows[0], "AW2"))

    assert (taken.added, taken.unchanged) == (1, 1)


def test_a_file_as_a_spreadsheet_saves_it_is_read() -> None:
    rows, _, _ = export(nasty_study())
    text = csv_file([result(rows[0])]).decode()

    taken = read(data=b"\xef\xbb\xbf" + text.replace("\r\n", "\n").replace("\n", "\r\n").encode())

    assert taken.added == 1


def test_what_comes_after_the_slots_are_full_is_stored_and_not_counted() -> None:
    rows, _, _ = export(make(raters=2))

    taken = read(*[result(rows[0], f"AW{number}") for number in range(3)])

    assert (taken.added, taken.surplus) == (3, 1)
    assert Assignment.objects.counted().count() == 2


def test_what_was_rejected_is_not_read() -> None:
    rows, _, _ = export(make())

    taken = read(result(rows[0], answers="x x", AssignmentStatus="Rejected"), result(rows[0], "AW2"))

    assert (taken.skipped, taken.added) == (1, 1)


def test_what_is_rejected_later_is_excluded_and_its_slot_comes_free() -> None:
    rows, _, _ = export(make(raters=1))
    read(result(rows[0]))

    taken = read(result(rows[0], AssignmentStatus="Rejected"))
    again = read(result(rows[0], AssignmentStatus="Rejected"), result(rows[0], "AW2"))

    assert (taken.rejected, again.rejected, again.added, again.surplus) == (1, 0, 1, 0)
    assert Assignment.objects.counted().get().annotator.participant.external_id == "AW2"
    assert Assignment.objects.get(excluded=True).exclusion_reason == "rejected on MTurk"


def test_a_worker_is_one_rater_in_all_hits_under_a_code_that_does_not_name_them() -> None:
    rows, _, _ = export(make())

    read(result(rows[0], number=1), result(rows[1], number=2))

    rater = Annotator.objects.get()
    assert rater.assignments.count() == 2
    assert "AW1" not in rater.code
    assert rater.kind == "mturk"
    assert Participant.objects.get().external_id == "AW1"
    assert rater.consents.get().accepted


def test_a_worker_who_did_the_same_hit_twice_counts_once() -> None:
    rows, _, _ = export(make())

    taken = read(result(rows[0], number=1), result(rows[0], number=2))

    assert (taken.added, taken.repeated) == (1, 1)
    assert Assignment.objects.counted().count() == 1


def test_a_worker_whose_data_were_deleted_is_not_read_again() -> None:
    rows, _, _ = export(make())
    first, further = result(rows[0], number=1), result(rows[1], number=2)
    read(first)
    erase_rater(annotator=Annotator.objects.get(), by=None, at=timezone.now())

    taken = read(first, further)

    assert (taken.added, taken.unchanged, taken.erased) == (0, 0, 2)
    assert Annotator.objects.count() == 1
    assert not Participant.objects.filter(external_id="AW1").exists()


def test_nothing_is_stored_of_who_did_not_agree() -> None:
    rows, _, _ = export(make())

    taken = read(result(rows[0], **{"Answer.consent": ""}))

    assert taken.without_consent == 1
    assert Annotator.objects.count() == 0


def test_ratings_given_here_and_there_share_the_slots() -> None:
    study = make(status="open", raters=2)
    done = rate(claim(make_annotator(study)))
    set_batch_status(batch=study.batches.get(), status="paused")
    row = next(row for row in export(study)[0] if row["hit"] == done.hit.key)

    taken = read(result(row, "AW1"), result(row, "AW2"))

    assert (taken.added, taken.surplus) == (2, 1)
    assert Assignment.objects.counted().filter(hit=done.hit).count() == 2


# Bad lines


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        pytest.param({"Input.hit": "unknown"}, "the batch has no HIT 'unknown'", id="key"),
        pytest.param({"Input.model1_summary1": "other"}, "Input.model1_summary1 is not what was exported", id="text"),
        pytest.param({"Input.source": "other"}, "Input.source is not what was exported", id="source"),
        pytest.param({"Input.id1": "3"}, "Input.id1 is not what was exported", id="order"),
        pytest.param({"Answer.pref1": ""}, "Answer.pref1 is ''; it must be -1, 0 or 1", id="no answer"),
        pytest.param({"Answer.pref2": "2"}, "Answer.pref2 is '2'; it must be -1, 0 or 1", id="answer"),
        pytest.param({"WorkerId": ""}, "WorkerId is ''", id="nobody"),
        pytest.param({"AssignmentId": "a b"}, "AssignmentId is 'a b'", id="assignment"),
        pytest.param({"WorkTimeInSeconds": "-3"}, "WorkTimeInSeconds is '-3', not a number of seconds", id="time"),
    ],
)
def test_a_bad_line_is_listed_and_nothing_is_stored(change: dict[str, str], reason: str) -> None:
    rows, _, _ = export(make())

    (told,) = reasons(result(rows[0], "AW0"), {**result(rows[0]), **change})

    assert told.startswith("line 3: ")
    assert reason in told


def test_an_order_that_was_turned_round_is_noticed() -> None:
    rows, _, _ = export(make())
    turned = {"1": "2", "2": "1"}[rows[0]["id1"]]

    assert reasons(result(rows[0], **{"Input.id1": turned})) == ["line 2: Input.id1 is not what was exported"]


def test_no_preference_is_a_bad_answer_where_it_was_not_offered() -> None:
    rows, _, _ = export(make(ties_allowed=False))

    assert "offers no" in reasons(result(rows[0], answers="0 1"))[0]


def test_an_assignment_twice_in_a_file_is_a_bad_line() -> None:
    rows, _, _ = export(make())

    assert reasons(result(rows[0]), result(rows[0])) == ["line 3: assignment 3AW11 is on line 2 already"]


@pytest.mark.parametrize(
    "gone", ["WorkerId", "AssignmentId", "Input.hit", "Input.id2", "Answer.pref1", "Answer.consent"]
)
def test_a_missing_column_is_named(gone: str) -> None:
    rows, _, _ = export(make())
    row = {name: value for name, value in result(rows[0]).items() if name != gone}

    assert reasons(row) == [f"line 1: column {gone} is missing"]


def test_results_are_not_read_into_an_open_batch() -> None:
    rows, _, _ = export(make())
    Batch.objects.update(status="open")

    with pytest.raises(InvalidSelection, match="pause it first"):
        read(result(rows[0]))


@pytest.mark.parametrize("data", [b"", b"\xff\xfe", b"a,b\n1\n", b'"x'])
def test_a_file_that_is_none_is_refused(data: bytes) -> None:
    make()

    with pytest.raises(AnnotationError):
        read(data=data)


# The commands


def test_the_commands_write_and_read_back(tmp_path: Path, capsys: Any) -> None:
    make(status="draft")
    folder = tmp_path / "out"

    call_command("mturk_export", "study", "--batch", "batch", "--to", str(folder))
    told = json.loads(capsys.readouterr().out)
    assert (told["hits"], told["assignments_per_hit"], told["too_long"]) == (3, 2, [])
    rows = list(csv.DictReader(io.StringIO((folder / "hits.csv").read_bytes().decode(), newline="")))
    results = tmp_path / "results.csv"
    results.write_bytes(csv_file([result(rows[0])]))
    call_command("mturk_import", "study", str(results), "--batch", "batch")

    assert json.loads(capsys.readouterr().out)["added"] == 1
    assert "<form" not in (folder / "template.html").read_text(encoding="utf-8")


def test_a_folder_that_cannot_be_made_is_told(tmp_path: Path) -> None:
    make()
    (tmp_path / "file").write_text("x")

    with pytest.raises(CommandError, match="can't be written to"):
        call_command("mturk_export", "study", "--batch", "batch", "--to", str(tmp_path / "file"))


# Several questions, strengths, kinds of ties, reasons


def asking(**settings: Any) -> Study:
    """Make a study that asks how much one is better, what is more fluent and whether both are good, and why."""
    study = make(contact="", **settings)
    return ask_more(study, criterion("fluency", description="Read $5 <b>aloud</b>.", tie_kinds=True), strength=True)


def test_the_page_asks_every_question_of_each_pair() -> None:
    _, page, _ = export(asking(first_reason="required", first_reason_min_length=7))

    shown = _Page(page)
    assert [(one["name"], one["value"]) for one in shown.inputs if one["name"].startswith("pref1")] == [
        *[("pref1", value) for value in ("-2", "-1", "0", "1", "2")],
        *[("pref1_fluency", value) for value in ("-1", "0good", "0bad", "1")],
    ]
    assert "Read &#36;5 &lt;b&gt;aloud&lt;/b&gt;." in page
    assert page.count('minlength="7"') == page.count('name="reason') == 2
    assert "Why?" in page


@pytest.mark.parametrize(("first_reason", "fields"), [("off", 0), ("optional", 2)])
def test_an_optional_reason_may_stay_empty_and_none_is_asked_by_default(first_reason: str, fields: int) -> None:
    _, page, _ = export(asking(first_reason=first_reason))

    assert page.count("<textarea") == fields
    assert "minlength" not in page


def test_answers_to_every_question_are_turned_to_study_order() -> None:
    study = asking(first_reason="optional")
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


def test_reasons_that_are_needed_and_answers_of_other_questions_are_checked() -> None:
    rows, _, _ = export(asking(first_reason="required", first_reason_min_length=5))
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
