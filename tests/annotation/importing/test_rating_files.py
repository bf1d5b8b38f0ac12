"""Long-form ratings: what Tandem exports is what it reads, and what turns A and B around is turned back."""

from typing import Any

import pytest

from annotation.core.errors import BadFile
from annotation.core.reasons import reason
from annotation.importing.formats.ratings_file import parse_ratings
from annotation.importing.rating_files import import_ratings
from annotation.importing.ratings import StoredRatings
from annotation.importing.uploads import read_upload
from annotation.models import Annotator, Assignment, Batch, ComparisonTable, Display, Pair, Rating
from tests.factories import add_instances, csv_file, json_lines, make_annotator, make_batch, make_study

pytestmark = [pytest.mark.django_db, pytest.mark.engine, pytest.mark.slow]

# As the format's description has them.
COLUMNS = [
    *("study", "batch", "hit", "instance_id", "dataset", "pair_index", "system_a", "system_b"),
    *("generation_a_index", "generation_b_index", "rater", "rater_kind", "stage", "rating", "shown_first", "arm"),
    *("table_variant", "reason", "active_seconds", "wall_seconds", "rated_at", "late", "excluded"),
    *("exclusion_reason", "software_version"),
]


def line(**changes: Any) -> dict[str, Any]:
    """Write one rating; a change to None leaves a field out."""
    record = {
        "instance_id": "news-1",
        "pair_index": 0,
        "system_a": "alpha",
        "system_b": "beta",
        "rater": "r1",
        "rating": -1,
        "shown_first": "a",
    }
    return {key: value for key, value in {**record, **changes}.items() if value is not None}


def load(*records: dict[str, Any], slug: str = "study", **settings: Any) -> StoredRatings:
    return import_ratings(data=json_lines(records), name="f.jsonl", slug=slug, **settings)[1]


def refused(*records: dict[str, Any], **settings: Any) -> list[str]:
    with pytest.raises(BadFile) as caught:
        load(*records, **settings)
    return [str(problem) for problem in caught.value.lines]


FULL = [
    *("study", "elsewhere", "H1", "news-1", "news", "1", "alpha", "beta"),
    *("1", "1", "r1", "person", "first", "1", "b", "placebo"),
    *("", "clearer", "3.5", "9", "2024-05-01T12:00:00+00:00", "true", "false"),
    *("", "0.0.9"),
]


def full(**changes: Any) -> dict[str, Any]:
    return dict(zip(COLUMNS, FULL, strict=True)) | changes


@pytest.mark.parametrize("form", ["csv", "jsonl"])
def test_every_exported_column_is_read(form: str) -> None:
    make_study()
    data = csv_file([full()], COLUMNS) if form == "csv" else json_lines([full()])

    study, stored = import_ratings(data=data, name=f"ratings.{form}", slug="study")

    assert stored == StoredRatings(added=1, unchanged=0)
    rating = Rating.objects.select_related("display__assignment__hit__batch", "display__pair").get()
    assert (rating.verdict, rating.stage, rating.arm, rating.reason) == (1, "first", "placebo", "clearer")
    assert (rating.active_seconds, rating.wall_seconds, rating.late) == (3.5, 9.0, True)
    assert rating.rated_at.isoformat() == "2024-05-01T12:00:00+00:00"
    assert rating.software_version == "0.0.9"
    assert (rating.display.pair.index, rating.display.a_is_left) == (1, False)
    assignment = rating.display.assignment
    assert (assignment.hit.external_id, assignment.hit.batch.name) == ("H1", "elsewhere")
    assert assignment.submitted_at == rating.rated_at
    assert study.annotators.get().kind == Annotator.Kind.IMPORTED


@pytest.mark.any_engine
@pytest.mark.parametrize(("rating", "verdict"), [(-1, 1), (0, 0), (1, -1)])
@pytest.mark.parametrize(("shown_first", "a_is_left"), [("a", False), ("b", True)])
def test_a_row_of_b_and_a_is_turned(rating: int, verdict: int, shown_first: str, a_is_left: bool) -> None:
    make_study(k=3)
    # Pairs have equal indexes, so a pair of unequal ones is made: A's text 2 beside B's text 0.
    pair = Pair.objects.filter(index=2).first()
    pair.generation_b = pair.matchup.pairs.get(index=0).generation_b
    pair.save()
    turned = line(system_a="beta", system_b="alpha", generation_a_index=0, generation_b_index=2, pair_index=2)

    load({**turned, "rating": rating, "shown_first": shown_first})

    stored = Rating.objects.select_related("display").get()
    assert (stored.verdict, stored.display.a_is_left, stored.display.pair_id) == (verdict, a_is_left, pair.pk)


@pytest.mark.parametrize(("cell", "stored"), [("true", True), ("false", False), ("", None), (None, None)])
def test_whether_the_page_was_translated_is_read(cell: str | None, stored: bool | None) -> None:
    add_instances(make_study(instances=0), instances=1)
    load(line(translated=cell))
    assert Rating.objects.get().translated is stored


def test_generation_indexes_or_a_single_pair_do_instead_of_a_pair_index() -> None:
    add_instances(make_study(), instances=1, prefix="single", k=1)

    load(line(pair_index=None, generation_a_index=1, generation_b_index=1))

    assert Display.objects.get().pair.index == 1
    assert load(line(instance_id="single-1", pair_index=None)).added == 1


def test_a_csv_made_safe_for_spreadsheets_is_read_as_it_was_and_json_lines_are_left_alone() -> None:
    make_study(systems=("=alpha", "'@beta"))
    cells = full(system_a="'=alpha", system_b="''@beta", rater="'-r1", reason="'+1", exclusion_reason="it's")

    import_ratings(data=csv_file([cells], COLUMNS), name="f.csv", slug="study")
    load(line(system_a="=alpha", system_b="'@beta", rater="'-r1", batch="b"))

    assert Rating.objects.earliest("pk").reason == "+1"
    assert list(Annotator.objects.order_by("pk").values_list("code", flat=True)) == ["-r1", "'-r1"]


@pytest.mark.any_engine
def test_line_ends_inside_reasons_keep_line_numbers_right() -> None:
    make_study()
    data = csv_file([full(reason="one\ntwo\nthree"), full(rating="5")], COLUMNS)

    with pytest.raises(BadFile) as caught:
        import_ratings(data=data, name="f.csv", slug="study")

    assert [(line.number, line.reason.code) for line in caught.value.lines] == [(5, "not_one_of")]


BAD_ROWS: list[tuple[dict[str, Any], str]] = [
    ({"instance_id": None}, "instance_id is missing"),
    ({"instance_id": "news-9"}, "no alpha / beta on instance 'news-9'"),
    ({"system_b": "gamma"}, "no alpha / gamma on instance 'news-1'"),
    ({"pair_index": 7}, "the study has no pair with these indexes"),
    ({"pair_index": 0, "generation_a_index": 1}, "the study has no pair with these indexes"),
    ({"pair_index": None}, "pair_index is missing, and instance 'news-1' has 2 pairs of these systems"),
    ({"pair_index": None, "generation_a_index": 0}, "generation_a_index and generation_b_index go together"),
    ({"pair_index": -1}, "pair_index is '-1', not a whole number from 0 to 999,999,999"),
    ({"pair_index": "9" * 20}, "not a whole number from 0 to 999,999,999"),
    ({"pair_index": "²"}, "pair_index is '²', not a whole number from 0 to 999,999,999"),
    ({"rating": 2}, "rating is '2'; it must be -1, 0, 1, left or right"),
    ({"rating": None}, "rating is missing"),
    ({"rating": "left", "shown_first": None}, "rating is left, so shown_first must say"),
    ({"rating": True}, "rating is true or false, not text"),
    ({"shown_first": "left"}, "shown_first is 'left'; it must be a, b or empty"),
    ({"rater": " "}, "rater is empty"),
    ({"rater": "a\x00"}, "rater holds a NUL character"),
    ({"rater": "x" * 201}, "rater is 201 characters long; at most 200 are taken"),
    ({"hit": "x" * 201}, "hit is 201 characters long; at most 200 are taken"),
    ({"arm": "x" * 51}, "arm is 51 characters long; at most 50 are taken"),
    ({"rater_kind": "judge"}, "rater_kind is 'judge'"),
    ({"stage": "third"}, "stage is 'third'; it must be first or revised"),
    ({"active_seconds": -1}, "active_seconds is '-1', not a number of seconds"),
    ({"wall_seconds": "inf"}, "wall_seconds is 'inf', not a number of seconds"),
    ({"rated_at": "2024-05-01T12:00:00"}, "not an ISO time with its zone"),
    ({"rated_at": "2024-02-30T12:00:00Z"}, "not an ISO time with its zone"),
    ({"rated_at": "0001-01-01T00:00:00+14:00"}, "rated_at"),
    ({"rated_at": "9999-12-31T23:59:59-14:00"}, "rated_at"),
    ({"late": "yes"}, "late is 'yes'; it must be true or false"),
    ({"table_variant": "c8"}, "the pair has no comparison table of variant 'c8'"),
]  # fmt: skip


@pytest.mark.any_engine
def test_a_bad_row_is_listed_and_nothing_is_stored() -> None:
    make_study()

    for change, why in BAD_ROWS:
        (problem,) = refused(line(), line(**{"pair_index": 1, "rater": "r2", **change}))

        assert problem.startswith("line 2: "), change
        assert why in problem
        assert Rating.objects.count() == Annotator.objects.count() == Batch.objects.count() == 0


@pytest.mark.any_engine
@pytest.mark.parametrize(
    ("written", "shown_first", "rating"),
    [
        *[(-1.0, None, -1), ("0.0", None, 0), ("1.0", "b", 1), ("A", None, -1), ("tie", None, 0), ("model_b", None, 1)],
        *[("left", "a", -1), ("left", "b", 1), ("Right", "a", 1), ("right", "b", -1)],
    ],
)
def test_verdicts_are_read_as_others_write_them(written: object, shown_first: str | None, rating: int) -> None:
    rows, bad = parse_ratings(json_lines([line(rating=written, shown_first=shown_first)]), "f.jsonl")

    assert ([row.rating for row in rows], bad) == ([rating], [])


@pytest.mark.any_engine
def test_a_file_without_ratings_is_bad() -> None:
    rows, bad = parse_ratings(b"\n", "f.jsonl")
    assert ([*rows], [problem.text for problem in bad]) == ([], ["the file holds no ratings"])


def test_the_same_file_again_changes_nothing() -> None:
    study = make_study()
    records = [line(), line(pair_index=1), line(rater="r2", rating=0), line(stage="revised", rating=1)]
    assert load(*records) == StoredRatings(4, 0)

    assert load(*records) == StoredRatings(0, 4)

    assert (Rating.objects.count(), Display.objects.count(), Assignment.objects.count()) == (4, 3, 2)
    assert study.imports.count() == 1


def test_other_reasons_of_stored_ratings_are_counted_and_not_stored() -> None:
    make_study()
    load(line(reason="clearer "), line(rater="r2", reason="shorter"), line(rater="r3", reason="kept"))
    again = (line(reason=" clearer"), line(rater="r2", reason="longer"), line(rater="r3"), line(rater="r4"))
    file = {"kind": "ratings", "data": json_lines(again), "name": "f.jsonl", "slug": "study", "dataset": ""}
    kept = reason("other_reasons", number=1)
    assert read_upload(**file)[1] == reason(
        "noticed", summary=reason("imported", name="f.jsonl", contents=reason("ratings", number=1)), notice=kept
    )
    none = reason("imported", name="f.jsonl", contents=reason("ratings", number=0))
    assert read_upload(**file)[1] == reason("noticed", summary=none, notice=kept)
    assert load(*again) == StoredRatings(added=0, unchanged=4, notices=(kept,))
    assert list(Rating.objects.order_by("pk").values_list("reason", flat=True)) == ["clearer ", "shorter", "kept", ""]
    assert load(*again[:1]).notices == ()


def test_a_longer_file_adds_to_the_assignments_that_are_there() -> None:
    make_study()
    load(line(rated_at="2024-05-01T12:00:00Z"))

    later = load(
        line(rated_at="2024-05-01T12:00:00Z"),
        line(pair_index=1, rated_at="2024-05-01T13:00:00Z"),
        line(stage="revised", rating=1),
        line(instance_id="news-2"),
    )

    assert later == StoredRatings(3, 1)
    first, second = Assignment.objects.order_by("pk")
    assert [display.position for display in first.displays.all()] == [0, 1]
    assert first.submitted_at.hour == 13
    assert [slot.number for slot in first.hit.slots.all()] == [1]
    assert second.hit.position == 1


CONTRADICTIONS = [
    (line(), line(rating=1), "line 2: rater r1 rated this pair on line 1 already"),
    (line(), line(), "line 2: rater r1 rated this pair on line 1 already"),
    (line(), line(stage="revised", shown_first="b"), "line 2: rater r1 was shown the other text first on line 1"),
    (line(), line(stage="revised", hit="H2"), "line 2: rater r1 rated this pair on another HIT on line 1"),
    (line(hit="H"), line(hit="H", instance_id="news-2"), "line 2: HIT 'H' holds pairs of more than one matchup"),
    (line(), line(pair_index=1, excluded=True), "line 2: excluded differs from this rater's other ratings on the"),
]


@pytest.mark.any_engine
def test_rows_that_contradict_each_other_are_refused() -> None:
    make_study()

    for first, second, why in CONTRADICTIONS:
        (problem,) = refused(first, second)

        assert problem.startswith(why)
        assert Rating.objects.count() == 0


@pytest.mark.parametrize("change", [{"rating": 1}, {"shown_first": "b"}], ids=str)
def test_a_row_that_contradicts_a_stored_one_is_refused(change: dict[str, Any]) -> None:
    make_study()
    load(line())

    assert refused(line(pair_index=1), line(**change)) == [
        "line 2: rater r1 has another rating of this pair in the study already"
    ]
    assert Rating.objects.count() == 1


def test_the_code_of_a_rater_says_whether_it_is_a_program() -> None:
    study = make_study()
    load(line(rater="ann"))
    load(line(rater="scripted-2"))
    load(line(rater="bob"), scripted=True)
    assert load(line(rater="bob"), line(rater="scripted-2"), scripted=True) == StoredRatings(0, 2)

    kinds = dict(study.annotators.values_list("code", "kind"))
    assert kinds == {"ann": "imported", "scripted-2": "scripted", "scripted-bob": "scripted"}
    study.annotators.filter(code="scripted-2").update(kind="imported")
    assert refused(line(rater="scripted-2", pair_index=1)) == [
        "line 1: rater scripted-2 is a person in the study, scripted here"
    ]


def test_one_batch_holds_one_configuration() -> None:
    study = make_study(instances=1)
    add_instances(study, instances=1, dataset="talk")

    assert refused(line(batch="both"), line(batch="both", instance_id="talk-1")) == [
        "line 2: batch 'both' holds more than one data set or pair of systems"
    ]
    load(line(batch="one"))
    assert refused(line(batch="one", instance_id="talk-1")) == [
        "line 1: batch 'one' holds more than one data set or pair of systems"
    ]


def test_ratings_made_here_and_exported_are_known_when_they_come_back() -> None:
    study = make_study()
    make_batch(study)
    from_here = make_annotator(study)
    load(line(rater="elsewhere", batch="imported"))

    again = load(line(rater="elsewhere", batch="another name"))

    assert again == StoredRatings(0, 1)
    assert from_here.assignments.count() == 0
    assert not study.batches.filter(name="another name").exists()


def test_a_rating_points_to_the_table_that_was_shown() -> None:
    study = make_study(instances=1)
    pair = Pair.objects.get(index=0)
    table = ComparisonTable.objects.create(study=study, table_id="t", pair=pair, variant="c8", rows=[])

    load(line(stage="revised", table_variant="c8", arm="tables"))

    assert Rating.objects.get().table == table


def test_ratings_without_a_batch_go_to_one_of_each_configuration() -> None:
    study = make_study(systems=("alpha", "beta", "gamma"))
    records = line(), line(system_b="gamma")
    load(*records)

    assert load(*records) == StoredRatings(0, 2)
    assert sorted(study.batches.values_list("name", flat=True)) == ["news: alpha / beta", "news: alpha / gamma"]
