"""Rows of what people did: the reasons that ratings don't count for, the history of votes, flags; and back in again."""

import json
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from django.core.management import call_command
from django.test import Client

from annotation.allocation.claims import return_hit
from annotation.annotators.consent import withdraw
from annotation.models import Annotator, Assignment, ComparisonTable, Pair, Rating, Study
from annotation.rating.flag_views import flag_pair, flag_row
from annotation.rating.second_stage import reveal, save_second_vote
from annotation.rating.store_vote import ClientReport
from annotation.rating.votes import lock_first_votes, save_vote, submit_assignment
from judging.runs.services import pairs_of
from reporting.exports import rows
from reporting.exports.files import READ_BACK, export_lines
from reporting.exports.rows import FLAG_COLUMNS, HISTORY_COLUMNS, flag_rows, history_rows, rating_rows
from tests.factories import NOON, add_instances, claim, make_annotator, make_batch, make_study, rate
from tests.reporting.builders import findings

pytestmark = [pytest.mark.django_db, pytest.mark.slow]


def make_checked_study(slug: str = "study", **settings: Any) -> Study:
    """Four instances to rate, of which two have gold."""
    study = make_study(slug, instances=4, **settings)
    study.instances.filter(instance_id__in=["news-1", "news-2"]).update(gold={"better": "alpha"})
    return study


def rated_study() -> tuple[Study, Annotator]:
    """One rater with a qualification, a gold HIT, two HITs and a repeat of the first; all submitted."""
    study = make_checked_study()
    make_batch(study, name="first", purpose="qualification", select="ids", instance_ids=["news-1"])
    gold = make_batch(study, name="gold", purpose="gold", select="ids", instance_ids=["news-2"])
    make_batch(study, name="main", select="ids", instance_ids=["news-3", "news-4"])
    annotator = make_annotator(study)
    qualification = claim(annotator)
    assert qualification.purpose == "qualification"
    rate(qualification, ["left" if one.a_is_left else "right" for one in qualification.displays.order_by("position")])
    hits = []
    for number in range(2):
        hits.append(rate(claim(annotator, NOON + timedelta(minutes=number)), at=NOON + timedelta(minutes=number)))
    repeat = Assignment.objects.create(
        hit=hits[0].hit, annotator=annotator, purpose="repeat", repeat_of=hits[0], attempt=2, state="claimed"
    )
    check = Assignment(hit=gold.hits.get(), annotator=annotator, purpose="gold")
    for made in (repeat, check):
        made.state = "submitted"
        made.submitted_at = NOON
        made.save()
        for position, place in enumerate(made.hit.hit_pairs.all()):
            before = hits[0].displays.filter(pair=place.pair).first()
            display = made.displays.create(
                pair=place.pair, position=position, a_is_left=not before.a_is_left if before else True
            )
            Rating.objects.create(display=display, verdict=1, rated_at=NOON)
    return study, annotator


def reasons(study: Study) -> dict[str, int]:
    counted: dict[str, int] = {}
    for row in rating_rows(study):
        assert row["excluded"] == bool(row["exclusion_reason"])
        counted[row["exclusion_reason"]] = counted.get(row["exclusion_reason"], 0) + 1
    return counted


def test_checks_are_exported_as_what_they_are_whatever_else_holds() -> None:
    study, annotator = rated_study()

    assert reasons(study) == {"": 4, "qualification": 2, "check: gold": 2, "check: repeat": 2}
    [one] = findings(study, rounds=1)["configurations"]
    assert one["raters"][0]["ratings"] == 4
    assert one["raters"][0]["exclusions"]["check"] == 6
    assert one["instances"] == 2
    Assignment.objects.filter(purpose="gold").update(state="expired")
    Annotator.objects.filter(pk=annotator.pk).update(excluded=True, exclusion_reason="clicked through")
    assert reasons(study) == {"clicked through": 4, "qualification": 2, "check: gold": 2, "check: repeat": 2}


def test_a_late_hit_whose_place_was_taken_says_so() -> None:
    study = make_study(instances=1)
    make_batch(study, raters=1)
    slow, quick = make_annotator(study), make_annotator(study, "quick")
    late = claim(slow)
    rate(claim(quick, NOON + timedelta(hours=2)), at=NOON + timedelta(hours=2))
    rate(late, at=NOON + timedelta(hours=3))

    assert reasons(study) == {"": 2, rows.LATE: 2}
    found = findings(study, rounds=1)["configurations"][0]["raters"][0]
    assert found["exclusions"]["surplus"] == 2


def test_nothing_of_who_has_withdrawn_is_exported() -> None:
    kinds = ("ratings", "history", "flags")

    def exported() -> dict[str, list[Any]]:
        return {kind: [json.loads(line) for line in export_lines(study, kind, "jsonl")] for kind in kinds}

    study = make_study(instances=2)
    make_batch(study)
    stays, leaves = make_annotator(study), make_annotator(study, "leaves")
    for annotator in (stays, leaves):
        assignment = rate(claim(annotator), submit=False)
        key = assignment.displays.earliest("position").pair.key
        flag_pair(assignment=assignment, pair_key=key, kind="empty", comment="", at=NOON)
        submit_assignment(assignment=assignment, at=NOON)
        return_hit(assignment=claim(annotator), reason="other", comment="", at=NOON)
    before = exported()

    withdraw(annotator=leaves, at=NOON)

    after = exported()
    for kind in kinds:
        assert {row["rater"] for row in before[kind]} == {stays.code, leaves.code}, kind
        assert {row["rater"] for row in after[kind]} == {stays.code}, kind
        assert len(after[kind]) * 2 == len(before[kind]), kind
    found = findings(study, rounds=1)["configurations"][0]["raters"][0]
    assert (found["raters"], found["exclusions"]["withdrawn"]) == (1, 2)


# The history


def two_stage_study(arm: str) -> tuple[Study, Assignment]:
    """A HIT of two pairs whose first votes are closed, its first pair's table shown."""
    study = make_study(instances=2, protocol="two-stage", arms=[arm], reason_min_length=5)
    cells = [{"aspect": f"Aspect {n}", "only_a": "a", "both": "", "only_b": "b"} for n in range(2)]
    for pair in Pair.objects.filter(matchup__instance__study=study).select_related("matchup__instance"):
        name = f"{pair.matchup.instance.instance_id}/{pair.index}"
        aspects = [row["aspect"] for row in cells]
        ComparisonTable.objects.create(study=study, table_id=name, pair=pair, variant="c8", rows=cells, aspects=aspects)
    make_batch(study, raters=1)
    assignment = claim(make_annotator(study))
    keys = list(assignment.displays.order_by("position").values_list("pair__key", flat=True))
    save_vote(
        assignment=assignment,
        pair_key=keys[0],
        choice="none",
        at=NOON,
        report=ClientReport(page="tab", active_seconds=0),
    )
    rate(assignment, "left", at=NOON + timedelta(seconds=30), submit=False)
    assignment = lock_first_votes(assignment=assignment, at=NOON + timedelta(seconds=40))
    reveal(assignment=assignment, at=NOON + timedelta(seconds=40))
    return study, assignment


def decide(assignment: Assignment) -> Assignment:
    """Revise the first pair and keep the others."""
    at = NOON + timedelta(minutes=1)
    for place, display in enumerate(assignment.displays.select_related("pair").order_by("position")):
        reveal(assignment=assignment, at=at)
        choice, reason = ("right", "It is fuller.") if place == 0 else ("left", "")
        save_second_vote(assignment=assignment, pair_key=display.pair.key, choice=choice, reason=reason, at=at)
    return submit_assignment(assignment=assignment, at=at)


def test_the_history_holds_every_change_in_study_order() -> None:
    study, assignment = two_stage_study("table:c8")
    decide(assignment)
    first = assignment.displays.select_related("pair__matchup__instance").earliest("position")
    left = -1 if first.a_is_left else 1

    found = list(history_rows(study))

    assert [tuple(row) for row in found] == [HISTORY_COLUMNS] * 5
    of_first = [row for row in found if row["pair_index"] == first.pair.index]
    assert [(row["stage"], row["rating"]) for row in of_first] == [("first", 0), ("first", left), ("revised", -left)]
    assert (of_first[0]["page"], of_first[0]["active_seconds"], of_first[0]["purpose"]) == ("tab", 0, "rating")
    assert of_first[0]["received_at"] == NOON.isoformat()
    assert (of_first[1]["table_id"], of_first[1]["arm"]) == ("", "")
    own = f"{first.pair.matchup.instance.instance_id}/{first.pair.index}"
    assert (of_first[2]["table_id"], of_first[2]["table_variant"], of_first[2]["arm"]) == (own, "c8", "table:c8")
    assert [row["table_of"] for row in of_first] == ["", "", "pair"]
    assert of_first[2]["reason"] == "It is fuller."
    assert {row["shown_first"] for row in of_first} == {"a" if first.a_is_left else "b"}
    assert not any(row["excluded"] for row in found)


@pytest.mark.parametrize("table_of", ["source", "dataset", "study"])
def test_the_history_tells_what_a_placebo_was_made_of(table_of: str, admin_client: Client) -> None:
    study = make_study(instances=2, k=3, protocol="two-stage", arms=["placebo:c8"], reason_min_length=5)
    add_instances(study, instances=1, dataset="mail")
    kept = {"source": "news", "dataset": "news", "study": "mail"}[table_of]
    for pair in Pair.objects.filter(matchup__instance__study=study, matchup__instance__dataset=kept):
        ComparisonTable.objects.create(study=study, table_id=f"t{pair.pk}", pair=pair, variant="c8", rows=[])
    make_batch(study, pairs=3 if table_of == "dataset" else 2)
    assignment = rate(claim(make_annotator(study)), submit=False)
    assignment = lock_first_votes(assignment=assignment, at=NOON)
    first = reveal(assignment=assignment, at=NOON)
    assert first is not None
    save_second_vote(assignment=assignment, pair_key=first.pair.key, choice="left", reason="", at=NOON)

    revised = [row for row in history_rows(study) if row["stage"] == "revised"]

    assert [(row["table_of"], row["arm"]) for row in revised] == [(table_of, "placebo:c8")]
    told = admin_client.get("/api/v1/history/?stage=revised").json()["results"]
    assert [row["table_of"] for row in told] == [table_of]


def test_the_last_change_of_a_pair_and_stage_is_its_rating() -> None:
    study, assignment = two_stage_study("none")
    decide(assignment)
    last = {(row["pair_index"], row["stage"]): row["rating"] for row in history_rows(study)}
    assert last == {(row["pair_index"], row["stage"]): row["rating"] for row in rating_rows(study)}
    rating = Rating.objects.filter(stage="revised").earliest("display__position")
    assert rating.choice == "right"


# Flags


def test_flags_and_returned_hits_are_rows() -> None:
    study, assignment = two_stage_study("table:c8")
    first = assignment.displays.select_related("pair").earliest("position")
    flag_pair(assignment=assignment, pair_key=first.pair.key, kind="harmful", comment="=cmd()", at=NOON)
    flag_row(assignment=assignment, pair_key=first.pair.key, row=1, take_back=False, at=NOON + timedelta(seconds=1))
    flag_row(assignment=assignment, pair_key=first.pair.key, row=1, take_back=True, at=NOON + timedelta(seconds=2))
    return_hit(assignment=assignment, reason="unclear", comment="What is it about?", at=NOON + timedelta(seconds=3))

    harmful, row, returned = flag_rows(study)

    assert tuple(harmful) == tuple(row) == tuple(returned) == FLAG_COLUMNS
    assert (harmful["kind"], harmful["comment"], harmful["row"], harmful["table_id"]) == ("harmful", "=cmd()", None, "")
    assert harmful["pair_index"] == first.pair.index
    assert (row["kind"], row["row"], row["aspect"], row["table_variant"]) == ("unsupported-row", 1, "Aspect 1", "c8")
    assert row["taken_back_at"] == (NOON + timedelta(seconds=2)).isoformat()
    assert (returned["kind"], returned["reason"], returned["comment"]) == ("returned", "unclear", "What is it about?")
    assert (returned["pair_index"], returned["instance_id"]) == (None, harmful["instance_id"])
    assert "'=cmd()" in "".join(export_lines(study, "flags", "csv"))


# In again


def test_an_export_with_checks_is_read_into_a_copy_without_them(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    study, _ = rated_study()
    call_command("export_study", "study", "--format", "csv", "--out", str(tmp_path))
    path = str(tmp_path / "ratings.csv")
    copy = make_checked_study("copy")
    capsys.readouterr()

    call_command("import_ratings", path, "--study", "copy")

    said = capsys.readouterr()
    assert "4 ratings added (study copy)" in said.out
    assert "left out: 6 ratings of qualifications and hidden checks" in said.err
    assert list(copy.batches.values_list("name", flat=True)) == ["main"]
    numbers = [findings(one, rounds=1)["configurations"][0] for one in (study, copy)]
    for name in ("instances", "pairs"):
        assert numbers[0][name] == numbers[1][name]
    assert numbers[0]["raters"][0]["counts"] == numbers[1]["raters"][0]["counts"]
    call_command("import_ratings", path, "--study", "study")  # what is there already says the same
    assert "nothing new; 4 ratings" in capsys.readouterr().out


def reported(assignment: Assignment) -> None:
    """Let the rater flag a pair and a row; another return the other HIT with a flag, a third without, the second be excluded."""
    study = assignment.annotator.study
    first = assignment.displays.select_related("pair").earliest("position")
    flag_pair(assignment=assignment, pair_key=first.pair.key, kind="harmful", comment="=cmd()", at=NOON)
    if first.table:
        flag_row(assignment=assignment, pair_key=first.pair.key, row=0, take_back=False, at=NOON)
        flag_row(assignment=assignment, pair_key=first.pair.key, row=0, take_back=True, at=NOON + timedelta(seconds=2))
    decide(assignment)
    for code, comment in (("second", "What is\r\nit about?"), ("third", "")):
        other = claim(make_annotator(study, code))
        if comment:
            for display in other.displays.order_by("position"):  # nothing else tells which pairs are on the HIT
                flag_pair(assignment=other, pair_key=display.pair.key, kind="empty", comment=comment, at=NOON)
        return_hit(assignment=other, reason="unclear", comment=comment, at=NOON + timedelta(minutes=2))
    seen = {"warned_at": NOON, "blocked_at": NOON, "block_reason": "too fast"}
    Annotator.objects.filter(code="second").update(excluded=True, exclusion_reason="too fast", kind="scripted", **seen)


def rows_of(slug: str) -> dict[str, Any]:
    """Return the rows of a study that can be read back, by kind, without its name."""
    study = Study.objects.get(slug=slug)
    read = {kind: [json.loads(line) for line in export_lines(study, kind, "jsonl")] for kind in READ_BACK}
    return {kind: [{**row, "study": None} for row in rows] for kind, rows in read.items()}


@pytest.mark.parametrize(
    ("arm", "form"),
    [pytest.param("table:c8", "csv", marks=pytest.mark.weekly), ("table:c8", "parquet"), ("none", "jsonl")],
)
def test_a_new_study_of_all_files_has_the_same_rows(
    arm: str, form: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    _, assignment = two_stage_study(arm)
    reported(assignment)
    before = rows_of("study")
    call_command("export_study", "study", "--format", form, "--out", str(tmp_path))
    make_study("copy", instances=0, protocol="two-stage", arms=[arm])
    files = [(kind, str(tmp_path / f"{kind}.{form}")) for kind, rows in before.items() if rows]

    for kind, path in files:
        call_command(READ_BACK[kind], path, "--study", "copy")

    assert {kind for kind, _ in files} == {*READ_BACK} - {"judgments"}
    assert rows_of("copy") == before
    capsys.readouterr()
    for slug in ("study", "copy"):  # what is there already says the same
        for kind, path in files:
            call_command(READ_BACK[kind], path, "--study", slug)
    assert capsys.readouterr().out.count("nothing new; ") == 2 * len(files)


# Judges


def test_judges_rate_what_raters_rate_and_checks_only_when_named() -> None:
    study = make_checked_study()
    gold = make_batch(study, name="gold", purpose="gold")
    make_batch(study, name="first", purpose="qualification")
    assert pairs_of(study, None).count() == 8  # no batch for rating: every pair

    make_batch(study, name="main", select="ids", instance_ids=["news-3"])

    names = pairs_of(study, None).values_list("matchup__instance__instance_id", flat=True)
    assert set(names) == {"news-3"}
    assert set(pairs_of(study, gold).values_list("matchup__instance__instance_id", flat=True)) == {"news-1", "news-2"}
