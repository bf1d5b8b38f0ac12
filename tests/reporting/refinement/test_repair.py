"""Repaired preferences of a study as training data, by the command."""

import json
from itertools import combinations
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from django.core.management import call_command
from django.core.management.base import CommandError

from annotation.models import Generation, Instance, Matchup, Pair, Rating, Study
from reporting.logic.preferences import Chosen, read_preferences
from reporting.refinement.refining import repair_study, report
from tests.reporting.builders import Built, answer_too, build_batch, build_study, build_system, judge, rate

pytestmark = [pytest.mark.django_db, pytest.mark.slow]
SYSTEMS = ("one", "two", "three", "four")


def build_four_systems(instances: int = 1) -> tuple[Study, dict[tuple[str, str], Built]]:
    """Make a study whose instances have one text of each of four systems, with a batch for each pair of systems."""
    study = build_study()
    systems = {name: build_system(study, name) for name in SYSTEMS}
    made = [
        Instance.objects.create(study=study, instance_id=f"i{n}", dataset="news", source=f"source {n}", position=n)
        for n in range(instances)
    ]
    texts = {
        (one.position, name): Generation.objects.create(
            instance=one, system=system, index=0, text=f"{name} {one.position}"
        )
        for one in made
        for name, system in systems.items()
    }
    built = {}
    for a, b in combinations(SYSTEMS, 2):
        matchups = [Matchup.objects.create(instance=one, system_a=systems[a], system_b=systems[b]) for one in made]
        pairs = [
            [Pair.objects.create(matchup=m, index=0, generation_a=texts[n, a], generation_b=texts[n, b])]
            for n, m in enumerate(matchups)
        ]
        built[a, b] = build_batch(study, "news", systems[a], systems[b], matchups, pairs, name=f"{a}-{b}")
    return study, built


def rows_of(path: Path) -> list[dict[str, Any]]:
    if path.suffix == ".parquet":
        return pq.read_table(path).to_pylist()
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def order_by_hand(built: dict[tuple[str, str], Built], place: int = 0) -> None:
    """Let people say: one > two > three, and four beats three; nothing compares four with the others."""
    for (a, b), verdict in {("one", "two"): -1, ("two", "three"): -1, ("three", "four"): 1}.items():
        rate(built[a, b], place, f"p-{a}-{b}", [verdict], a_is_left=[a != "two"])


def test_chosen_and_rejected_texts_follow_the_ranking(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    study, built = build_four_systems()
    order_by_hand(built)
    out = tmp_path / "pairs.jsonl"
    call_command("refine_preferences", study.slug, out=out, format="json")
    # Rates: one 1 of 1, two 0 of 2, three -2 of 2, four 1 of 1. One and four are equal: five pairs.
    found = {(row["chosen"], row["rejected"]) for row in rows_of(out)}
    assert found == {
        ("one 0", "two 0"),
        ("one 0", "three 0"),
        ("four 0", "two 0"),
        ("four 0", "three 0"),
        ("two 0", "three 0"),
    }
    assert {row["prompt"] for row in rows_of(out)} == {"source 0"}
    first = next(row for row in rows_of(out) if (row["chosen"], row["rejected"]) == ("one 0", "three 0"))
    about = {"margin": 2.0, "source": "refined", "instance_id": "i0", "negated": False}  # rates of 1 and -1
    assert first == {"prompt": "source 0", "chosen": "one 0", "rejected": "three 0", **about}
    numbers = json.loads(capsys.readouterr().out)
    counted = {key: numbers[key] for key in ("preferences", "kept", "reversed", "dropped_as_equal", "pairs", "added")}
    assert counted == {"preferences": 3, "kept": 3, "reversed": 0, "dropped_as_equal": 0, "pairs": 5, "added": 2}
    assert numbers["written"] == {str(out): 5}


def test_a_cycle_yields_nothing_and_says_so(tmp_path: Path) -> None:
    study, built = build_four_systems()
    for (a, b), verdict in {("one", "two"): -1, ("two", "three"): -1, ("one", "three"): 1}.items():
        rate(built[a, b], 0, f"p-{a}-{b}", [verdict])
    numbers = report(repair_study(read_preferences(study, Chosen())))
    assert (numbers["preferences"], numbers["dropped_as_equal"], numbers["pairs"]) == (3, 3, 0)
    assert numbers["transitivity"]["3"]["before"]["n"] == 1
    assert numbers["transitivity"]["3"]["before"]["value"] is None  # one set is too few
    assert numbers["density"] == {
        "before": {"value": 1, "n": 3, "of": "pairs"},
        "after": {"value": 0, "n": 3, "of": "pairs"},
    }
    with pytest.raises(CommandError, match="no preference"):
        call_command("refine_preferences", study.slug, out=tmp_path / "none.jsonl")
    assert not (tmp_path / "none.jsonl").exists()


def test_transitivity_before_and_after_is_over_complete_sets() -> None:
    study, built = build_four_systems(instances=20)
    for place in range(20):
        for (a, b), verdict in {
            ("one", "two"): -1,
            ("two", "three"): -1,
            ("one", "three"): 1,
            ("one", "four"): -1,
        }.items():
            rate(built[a, b], place, f"p-{a}-{b}-{place}", [verdict])
    numbers = report(repair_study(read_preferences(study, Chosen())))
    # One cycle of three on each instance, and a text that was compared once: of all four sets of three, three have no cycle.
    assert numbers["transitivity"]["3"]["before"] == {"value": 0, "n": 20, "of": "complete sets", "coin": 0.75}
    assert numbers["transitivity"]["4"]["before"]["n"] == 0
    assert numbers["transitivity"]["3"]["after"]["value"] == 1
    assert numbers["density"]["before"] == {"value": pytest.approx(4 / 6), "n": 120, "of": "pairs"}


def test_people_and_judges_are_told_apart_and_joined() -> None:
    study, built = build_four_systems()
    order_by_hand(built)
    judge(built["one", "two"], "fair", [(0, 0, "ab", 1), (0, 0, "ba", 1)], order="both")
    judge(built["two", "three"], "fair", [(0, 0, "ab", "unparsed"), (0, 0, "ba", 0)], order="both")
    people, by_judge = (read_preferences(study, Chosen((name,))) for name in ("people", "judge:fair"))
    assert (len(people), len(by_judge), by_judge.missing) == (3, 3, 1)
    assert (by_judge.decided.sum(), len(by_judge.ties)) == (2, 1)
    both = repair_study(read_preferences(study, Chosen(("people", "judge:fair"))))
    assert len(both.given) == 6
    assert both.found.outcome.tolist().count(-1) == 1  # two beats one, twice by the judge and against one person
    assert report(repair_study(by_judge))["commutativity"]["before"] == {"value": 1.0, "n": 1, "of": "pairs"}


def test_verdicts_that_follow_the_place_do_not_commute() -> None:
    study, built = build_four_systems()
    judge(built["one", "two"], "first", [(0, 0, "ab", -1), (0, 0, "ba", 1)], order="both")
    numbers = report(repair_study(read_preferences(study, Chosen(("judge:first",)))))
    assert numbers["commutativity"]["before"] == {"value": 0.0, "n": 1, "of": "pairs"}
    assert numbers["commutativity"]["after"]["value"] is None


def test_only_counted_first_votes_of_the_chosen_question_and_stage_enter(tmp_path: Path) -> None:
    study, built = build_four_systems()
    answer_too(rate(built["one", "two"], 0, "p", [-1]), [1])
    rate(built["one", "two"], 0, "q", [1], state="returned", fills_slot=False)
    rate(built["one", "three"], 0, "p", [1], stage=Rating.Stage.REVISED)
    assert read_preferences(study, Chosen()).verdict.tolist() == [-1]
    assert read_preferences(study, Chosen(stage=Rating.Stage.REVISED)).verdict.tolist() == [1]

    for stage in Rating.Stage.values:
        call_command("refine_preferences", study.slug, f"--stage={stage}", f"--out={tmp_path / stage}.jsonl")
    first, revised = ((tmp_path / f"{stage}.jsonl").read_text(encoding="utf-8") for stage in Rating.Stage.values)
    assert first != revised


def test_instructions_ask_in_both_orders_and_negated(tmp_path: Path) -> None:
    study, built = build_four_systems()
    rate(built["one", "two"], 0, "p", [-1])
    call_command("refine_preferences", study.slug, form="instruction", negated=True, out=tmp_path / "i.jsonl")
    rows = rows_of(tmp_path / "i.jsonl")
    assert len(rows) == 4
    for row in rows:
        texts = row["input"].split("Text ")[1:]
        named = texts[int(row["output"]) - 1]
        negated = "does not apply" in row["instruction"]
        assert ("two 0" if negated else "one 0") in named
    assert {row["output"] for row in rows} == {"1", "2"}


@pytest.mark.parametrize("form", ["trl", "hf"])
def test_chosen_and_rejected_texts_change_places_with_the_negated_question(tmp_path: Path, form: str) -> None:
    study, built = build_four_systems()
    Study.objects.update(question="Which is {better}?")
    rate(built["one", "two"], 0, "p", [-1])
    call_command("refine_preferences", study.slug, form=form, negated=True, out=tmp_path / "n.jsonl")
    plain, negated = rows_of(tmp_path / "n.jsonl" / "train.parquet" if form == "hf" else tmp_path / "n.jsonl")
    assert (plain["chosen"], plain["rejected"], plain["negated"]) == ("one 0", "two 0", False)
    assert (negated["chosen"], negated["rejected"], negated["negated"]) == ("two 0", "one 0", True)
    assert plain["prompt"] == "source 0\n\nWhich is {better}?"
    assert negated["prompt"] == "source 0\n\nThe text of two to which this does not apply: Which is {better}?"


def test_as_many_rows_are_drawn_as_preferences_were_given(tmp_path: Path) -> None:
    study, built = build_four_systems(instances=2)
    for place in range(2):
        order_by_hand(built, place)
    options = {"form": "instruction", "negated": True, "out": tmp_path / "i.jsonl"}
    call_command("refine_preferences", study.slug, **options)
    every = rows_of(tmp_path / "i.jsonl")
    call_command("refine_preferences", study.slug, **options, down_sample=True)
    drawn = rows_of(tmp_path / "i.jsonl")
    assert (len(every), len(drawn)) == (2 * 5 * 4, 6)  # five pairs an instance, four rows each; three preferences
    assert all(row in every for row in drawn)


def test_held_out_instances_are_apart_and_the_rest_is_drawn_to_size(tmp_path: Path) -> None:
    study, built = build_four_systems(instances=10)
    for place in range(10):
        for (a, b), verdict in {("one", "two"): -1, ("two", "three"): -1, ("three", "four"): -1}.items():
            rate(built[a, b], place, f"p-{a}-{b}-{place}", [verdict])
    out = tmp_path / "folder"
    options: dict[str, Any] = {"form": "hf", "held_out": 0.3, "down_sample": True, "out": out}
    call_command("refine_preferences", study.slug, **options)
    train, test = rows_of(out / "train.parquet"), rows_of(out / "test.parquet")
    # Win-loss rates are 1, 0, 0, -1: five pairs an instance, drawn down to the three that were given.
    assert (len(train), len(test)) == (7 * 3, 3 * 5)
    assert not {row["instance_id"] for row in train} & {row["instance_id"] for row in test}
    card = (out / "README.md").read_text(encoding="utf-8")
    assert "path: train.parquet" in card
    assert "path: test.parquet" in card
    first = (out / "train.parquet").read_bytes()
    call_command("refine_preferences", study.slug, **options)
    assert (out / "train.parquet").read_bytes() == first
    call_command("refine_preferences", study.slug, **options, seed=1)
    assert (out / "train.parquet").read_bytes() != first
    call_command("refine_preferences", study.slug, **{**options, "held_out": 0.0})
    assert not (out / "test.parquet").exists()  # its instances are in the other one


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"rater": ["judge:nobody"]}, "no ratings by judge:nobody; it has those of people"),
        ({"dataset": "films"}, "no data set films; it has news"),
        ({"held_out": 1.0}, "held_out: "),
        ({"question": "fluency"}, "asks no question fluency"),
    ],
)
def test_bad_options_are_refused_and_nothing_is_written(tmp_path: Path, options: dict[str, Any], message: str) -> None:
    study, built = build_four_systems()
    order_by_hand(built)
    with pytest.raises(CommandError, match=message):
        call_command("refine_preferences", study.slug, out=tmp_path / "pairs.jsonl", **options)
    assert list(tmp_path.iterdir()) == []


def test_a_folder_that_cannot_be_written_to_is_named(tmp_path: Path) -> None:
    study, built = build_four_systems()
    order_by_hand(built)
    with pytest.raises(CommandError, match="can't write to"):
        call_command("refine_preferences", study.slug, out=tmp_path / "missing" / "pairs.jsonl")
