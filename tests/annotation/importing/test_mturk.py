"""Mechanical Turk results: answers are in screen order and must come out in study order."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from analysis.agreement.consistency import consistency, matchup_means, preference_strength, rating_sets
from annotation.core.errors import BadFile, SettingFixed
from annotation.core.reasons import Reason
from annotation.core.refusals import refusal
from annotation.importing.content import StoredInstances
from annotation.importing.formats.mturk import parse_mturk
from annotation.importing.mturk_results import import_mturk
from annotation.importing.ratings import StoredRatings
from annotation.models import Assignment, Batch, Display, HitPair, Instance, Rating, Slot, Study
from annotation.questions.questions import Answer
from annotation.studies.configurations import configuration
from annotation.studies.outcomes import human_ratings, select
from annotation.studies.services import save_settings
from tests.factories import ask_more, criterion, csv_file, make_study, mturk_row

GOLDEN = Path(__file__).parent.parent.parent / "golden" / "human_rating_sets.json"


def load(*rows: dict[str, Any], slug: str = "s", **changes: Any) -> tuple[Study, StoredInstances, StoredRatings]:
    columns = list(dict.fromkeys(key for row in rows for key in row))
    named = {"system_1": "one", "system_2": "two", "dataset": "news", **changes}
    return import_mturk(data=csv_file(rows, columns), name="f.csv", slug=slug, **named)


def reasons(*rows: dict[str, Any], **columns: str) -> list[tuple[int, str]]:
    header = list(dict.fromkeys(key for row in rows for key in row))
    with pytest.raises(BadFile) as caught:
        parse_mturk(csv_file(rows, header), "f.csv", columns=columns)
    return [(line.number, line.reason) for line in caught.value.lines]


# The screen-order trap


@pytest.mark.parametrize(
    ("first_shown", "answer", "verdict"),
    [
        (1, -1, -1),  # system 1 shown first, the first preferred: system 1, which is A
        (1, 0, 0),
        (1, 1, 1),  # system 1 shown first, the second preferred: system 2, which is B
        (2, -1, 1),  # system 2 shown first, the first preferred: system 2
        (2, 0, 0),
        (2, 1, -1),  # system 2 shown first, the second preferred: system 1
    ],
)
def test_an_answer_is_turned_from_the_screen_to_the_study(first_shown: int, answer: int, verdict: int) -> None:
    (row,) = parse_mturk(csv_file([mturk_row(order=[first_shown], answers=[answer])]), "f.csv")

    (pair,) = row.pairs
    assert pair.answer == Answer(verdict)
    assert pair.first_is_1 == (first_shown == 1)
    assert (pair.text_1, pair.text_2) == ("x: text 1 of system 1", "x: text 1 of system 2")


@pytest.mark.django_db
def test_votes_texts_and_sides_are_stored_in_study_order() -> None:
    study, _, _ = load(mturk_row(order=[1, 2, 2], answers=[-1, -1, 1]))

    assert list(
        Rating.objects.order_by("display__pair__index").values_list(
            "verdict", "display__a_is_left", "display__pair__generation_a__text", "display__pair__generation_b__text"
        )
    ) == [
        (-1, True, "x: text 1 of system 1", "x: text 1 of system 2"),
        (1, False, "x: text 2 of system 1", "x: text 2 of system 2"),
        (-1, False, "x: text 3 of system 1", "x: text 3 of system 2"),
    ]
    assert list(study.systems.values_list("name", flat=True)) == ["one", "two"]


# Rows


def test_decimals_and_blanks_as_spreadsheets_write_them_are_read() -> None:
    (row,) = parse_mturk(csv_file([mturk_row(order=["1.0 ", " 2.0"], answers=["-1.0", " 1 "])]), "f.csv")

    assert [(pair.first_is_1, pair.answer) for pair in row.pairs] == [(True, Answer(-1)), (False, Answer(-1))]


def test_rows_with_the_same_input_are_one_hit_when_no_id_says_so() -> None:
    rows = [mturk_row("W1", item="x"), mturk_row("W2", item="y"), mturk_row("W3", item="x", answers=[1, 1])]
    rows.append(mturk_row("W1", item="x", order=[1, 2]))  # the same texts the other way round

    hits = [row.hit for row in parse_mturk(csv_file(rows), "f.csv")]

    assert hits[0] == hits[2]
    assert len({*hits}) == 3


TIME = "WorkTimeInSeconds"


@pytest.mark.parametrize(
    ("column", "cell", "reason"),
    [
        ("WorkerId", " ", refusal("empty", field="WorkerId")),
        ("Input.id1", "3", refusal("no_order", field="Input.id1", value="'3'")),
        ("Input.id2", "", refusal("no_order", field="Input.id2", value="''")),
        *(
            (column, cell, refusal("not_an_answer", field=column, value=repr(cell), words="-1, 0, 1"))
            for column, cell in (("Answer.pref1", "2"), ("Answer.pref2", "left"), ("Answer.pref2", "0.5"))
        ),
        *(
            (TIME, cell, refusal("not_kind", field=TIME, kind="a number of seconds", value=repr(cell)))
            for cell in ("-1", "nan")
        ),
    ],
)
def test_a_bad_row_is_listed_with_its_line(column: str, cell: str, reason: Reason) -> None:
    rows = mturk_row("W0", **{TIME: "12"}), {**mturk_row("W1", **{TIME: "12"}), column: cell}
    assert reasons(*rows) == [(3, reason)]


def test_a_row_of_another_number_of_cells_is_listed() -> None:
    rows = [mturk_row(f"W{number}") for number in range(4)]
    first, *lines = csv_file(rows).decode().splitlines()
    lines[1] += ",extra"
    lines[2] = lines[2].rsplit(",", 1)[0]

    with pytest.raises(BadFile) as caught:
        parse_mturk("\n".join([first, *lines]).encode(), "f.csv")

    assert [line.number for line in caught.value.lines] == [3, 4]


def test_rows_that_contradict_each_other_are_refused() -> None:
    assert reasons(mturk_row("W1"), mturk_row("W2"), mturk_row("W1", answers=[0, 0])) == [
        (4, refusal("answered_before", worker="W1", line=2))
    ]
    rows = [mturk_row("W1", item="x", HITId="H"), mturk_row("W2", item="y", HITId="H")]
    assert reasons(*rows) == [(3, refusal("other_texts", hit="H", line=2))]


@pytest.mark.parametrize(
    "gone", ["Input.model1_summary2", "Input.model2_summary2", "Input.id2", "Answer.pref2", "WorkerId"]
)
def test_a_missing_column_is_named(gone: str) -> None:
    row = {key: value for key, value in mturk_row().items() if key != gone}
    assert reasons(row) == [(1, refusal("missing_column", column=gone))]


def test_columns_with_a_padded_number_are_not_taken_for_pairs() -> None:
    row = {key.replace("1", "01") if key.endswith("1") else key: value for key, value in mturk_row().items()}
    parsed = parse_mturk(csv_file([row]), "f.csv")

    assert [len(one.pairs) for one in parsed] == [1]


def test_columns_may_go_by_other_names() -> None:
    names = {"WorkerId": "who", "Input.model1_summary1": "L1", "Input.model2_summary1": "R1", "Input.id1": "order-1",
             "Answer.pref1": "said.1"}  # fmt: skip
    row = {names[key]: value for key, value in mturk_row(order=[2], answers=[-1]).items()}
    columns = {"worker": "who", "first": "L{j}", "second": "R{j}", "order": "order-{j}", "answer": "said.{j}"}

    (found,) = parse_mturk(csv_file([row]), "f.csv", columns=columns)

    assert (found.worker, found.pairs[0].answer) == ("W1", Answer(1))
    assert found.pairs[0].text_1 == "x: text 1 of system 1"
    assert reasons(mturk_row(), first="Input.left") == [
        (1, refusal("no_pair_number", field="first", column="'Input.left'"))
    ]


def test_a_file_without_answers_is_bad() -> None:
    with pytest.raises(BadFile, match="line 1: the file holds no answers"):
        parse_mturk(csv_file([], list(mturk_row())), "f.csv")


# Into a study


@pytest.mark.django_db
def test_a_file_becomes_a_study_with_imported_ratings() -> None:
    study, stored, ratings = load(mturk_row("W1", item="x"), mturk_row("W2", item="x"), mturk_row("W1", item="y"))

    assert (stored.added, ratings.added, ratings.unchanged) == (2, 6, 0)
    assert list(study.instances.values_list("instance_id", "source")) == [("news-0001", ""), ("news-0002", "")]
    batch = Batch.objects.get()
    assert (batch.name, batch.origin, batch.status) == ("news: one / two", "imported", "closed")
    assert (batch.pairs_per_hit, batch.raters_per_hit) == (2, 2)
    assert sorted(study.annotators.values_list("code", "kind")) == [
        ("W1@news: one / two", "imported"),
        ("W2@news: one / two", "imported"),
    ]
    slots = Slot.objects.order_by("hit", "number").values_list("hit__external_id", "number")
    assert list(slots) == [("news-0001", 1), ("news-0001", 2), ("news-0002", 1)]
    assert Slot.objects.filter(assignment=None).count() == 0
    assert set(Assignment.objects.values_list("state", flat=True)) == {"submitted"}


@pytest.mark.django_db
def test_ids_times_rejections_and_missing_answers_of_a_hit_are_kept() -> None:
    study, _, ratings = load(
        mturk_row("W1", HITId="3ABC", WorkTimeInSeconds="61.5", AssignmentStatus="Rejected", answers=["", 0]),
        mturk_row("W2", HITId="3ABC", AssignmentStatus="Approved", answers=[1, 1]),
    )

    assert ratings.added == 3
    assert Display.objects.count() == 4
    assert Instance.objects.get().instance_id == "3ABC"
    rejected = Assignment.objects.get(excluded=True)
    assert (rejected.annotator.code.split("@")[0], rejected.exclusion_reason) == ("W1", "rejected on MTurk")
    assert (rejected.work_seconds, rejected.hit.external_id) == (61.5, "3ABC")
    counted = human_ratings(select(configuration(study, dataset="news", systems=("one", "two"))))
    assert counted.outcomes.verdict.tolist() == [1, 1]


@pytest.mark.django_db
@pytest.mark.parametrize("extra", [{}, {"HITId": "H1"}], ids=["no HITId", "HITId"])
def test_the_same_file_again_changes_nothing(extra: dict[str, str]) -> None:
    rows = [mturk_row("W1", answers=["", 1], **extra), mturk_row("W2", **extra)]
    load(*rows)
    models = (Rating, Display, Assignment, Instance)
    before = [model.objects.count() for model in models]

    for again in (rows, [dict(reversed(row.items())) for row in rows]):
        study, stored, ratings = load(*again)
        assert (stored.added, ratings.added, ratings.unchanged) == (0, 0, 3)
    assert [model.objects.count() for model in models] == before
    assert study.imports.count() == 1


@pytest.mark.django_db
def test_a_later_export_adds_its_new_workers_hits_and_answers() -> None:
    load(mturk_row("W1", item="x", answers=["", 1]))

    _, stored, ratings = load(
        mturk_row("W3", item="y"), mturk_row("W2", item="x"), mturk_row("W1", item="x", answers=[-1, 1])
    )

    assert (stored.added, ratings.added, ratings.unchanged) == (1, 5, 1)
    assert list(Instance.objects.values_list("instance_id", flat=True)) == ["news-0001", "news-0002"]
    first = Instance.objects.get(instance_id="news-0001")
    assert {text[0] for text in first.generations.values_list("text", flat=True)} == {"x"}
    assert HitPair.objects.count() == 4
    assert Slot.objects.count() == 3


@pytest.mark.django_db
def test_an_answer_that_differs_from_the_stored_one_is_refused() -> None:
    load(mturk_row("W1", answers=[-1, 1]))

    with pytest.raises(BadFile, match="line 2: rater W1@news: one / two has another rating of this pair"):
        load(mturk_row("W1", answers=[-1, -1]))

    assert sorted(Rating.objects.values_list("verdict", flat=True)) == [-1, 1]


@pytest.mark.django_db
def test_equal_worker_ids_of_two_files_are_different_raters() -> None:
    study, _, _ = load(mturk_row("1", item="x"), dataset="news")
    load(mturk_row("1", item="y"), dataset="talk")

    assert sorted(study.annotators.values_list("code", flat=True)) == ["1@news: one / two", "1@talk: one / two"]


@pytest.mark.django_db
def test_systems_named_the_other_way_round_are_refused() -> None:
    load(mturk_row("W1"))

    with pytest.raises(BadFile, match="in study s 'one' is system 1 and 'two' system 2; name them so"):
        load(mturk_row("W2", item="y"), system_1="two", system_2="one")
    with pytest.raises(BadFile, match="system 1 and system 2 are both 'one'"):
        load(mturk_row("W2", item="y"), system_2="one")

    assert Instance.objects.count() == 1


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("rows", "changes", "message"),
    [
        ([mturk_row("W" * 190)], {}, "rater is 2.. characters long; at most 200"),
        ([mturk_row("W", HITId="H" * 201)], {}, "instance_id is 201 characters long"),
        ([mturk_row("W")], {"system_2": "x" * 201}, "the system name is 201 characters long"),
        ([mturk_row("W")], {"batch": "x" * 201}, "batch is 201 characters long"),
    ],
    ids=["worker", "HIT", "system", "batch"],
)
def test_a_name_that_no_column_can_hold_is_refused(rows: list[Any], changes: dict[str, str], message: str) -> None:
    with pytest.raises(BadFile, match=message):
        load(*rows, **changes)

    assert Study.objects.count() == 0


# The published numbers, through the whole path


def golden_file(items: list[dict[str, Any]]) -> bytes:
    """Write a results file whose verdicts in study order are the published ones: texts and display order are made up."""
    rows = []
    for number, item in enumerate(items):
        order = [1 + (number * 7 + j * 3) % 5 % 2 for j in range(5)]
        for one in item["sets"]:
            answers = [r if first == 1 else -r for r, first in zip(one["r"], order, strict=True)]
            rows.append(mturk_row(str(one["worker"]), order=order, answers=answers, item=f"item {number}"))
    return csv_file(rows)


@pytest.mark.slow
@pytest.mark.django_db
@pytest.mark.parametrize("key", ["vicuna_mistral_samsum", "gpt35_vicuna_cnndm"])
def test_published_numbers_come_out_of_file_and_database(key: str) -> None:
    items = json.loads(GOLDEN.read_text(encoding="utf-8"))[key]
    study, _, ratings = import_mturk(
        data=golden_file(items), name="f.csv", slug="s", system_1="one", system_2="two", dataset="d"
    )
    assert ratings.added == 750

    selection = select(configuration(study, dataset="d", systems=("one", "two")))
    rated = human_ratings(selection)
    sets = rating_sets(rated.outcomes)

    found = {
        (int(instance), rated.raters[rater].split("@")[0]): (row.tolist(), float(c), float(p))
        for instance, rater, row, c, p in zip(
            sets.instance, sets.rater, sets.ratings, consistency(sets.ratings), preference_strength(sets.ratings), strict=True
        )
    }  # fmt: skip
    expected = {
        (number, str(one["worker"])): (one["r"], one["consistency"], one["pref_strength"])
        for number, item in enumerate(items)
        for one in item["sets"]
    }
    assert found.keys() == expected.keys()
    for place, (votes, steady, strength) in expected.items():
        assert found[place][0] == votes
        assert found[place][1:] == pytest.approx((steady, strength), abs=1e-9)
    means = matchup_means(sets, consistency(sets.ratings)).mean
    strengths = matchup_means(sets, preference_strength(sets.ratings)).mean
    np.testing.assert_allclose(means, [item["mean_consistency"] for item in items], rtol=0, atol=1e-9)
    np.testing.assert_allclose(strengths, [item["mean_pref_strength"] for item in items], rtol=0, atol=1e-9)
    assert 0.2 < rated.first_is_a.mean() < 0.8  # the made-up display order has both, so that a missed turn would show


# Several questions, strengths, kinds of ties, reasons


def asking() -> Study:
    further = criterion("fluency", tie_kinds=True)
    return ask_more(make_study("s", instances=0), further, "detail", strength=True, first_reason="optional")


@pytest.mark.django_db
def test_answers_to_further_questions_stand_in_columns_with_their_keys() -> None:
    asking()
    told = {"Answer.pref1_fluency": "0good", "Answer.pref2_fluency": -1, "Answer.pref1_detail": 1}
    row = mturk_row(order=[1, 2], answers=[-2, 1], **told, **{"Answer.pref2_detail": "", "Answer.reason1": " So. "})

    assert load(row)[2].added == 5

    found = Rating.objects.order_by("display__pair__index", "question")
    assert [(one.question, one.answer, one.reason) for one in found] == [
        (0, Answer(-1, 2), "So."),
        (1, Answer(0, tie_kind="good"), ""),
        (2, Answer(1), ""),
        (0, Answer(-1, 1), ""),
        (1, Answer(1), ""),
    ]
    assert load(row)[2].added == 0


@pytest.mark.django_db
def test_questions_and_strengths_that_are_not_asked_for_are_refused_where_several_questions_are() -> None:
    asking()
    row = mturk_row(**{"Answer.pref1_fluence": 1})
    with pytest.raises(BadFile, match=r"column Answer\.pref1_fluence is of a question that the study does not ask"):
        load(row)
    assert load(row, slug="plain")[2].added == 2
    with pytest.raises(BadFile, match=r"Answer\.pref1_detail is '2'; it must be -1, 0, 1, or empty"):
        load(mturk_row(**{"Answer.pref1_detail": 2}))


@pytest.mark.django_db
def test_what_imported_answers_have_is_not_switched_off() -> None:
    study = asking()
    load(mturk_row(answers=[-2, 1], **{"Answer.pref1_fluency": "0good"}))
    fluency, detail = study.criteria

    with pytest.raises(SettingFixed, match="answers to overall have it"):
        save_settings(study=study, strength=False)
    with pytest.raises(SettingFixed, match="answers to fluency have it"):
        save_settings(study=study, criteria=[{**fluency, "tie_kinds": False}, detail])
    asked_more = save_settings(study=study, criteria=[fluency, {**detail, "strength": True}])
    assert save_settings(study=asked_more, criteria=[fluency, detail]).criteria == [fluency, detail]
