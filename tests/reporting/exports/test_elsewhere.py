"""`export_preferences`: files of other tools, read back into a study with the same findings; training data as it was given."""

import csv
import json
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command

from annotation.models import Annotator, Generation, Rating, Study
from judging.models import Judge
from reporting.exports.elsewhere import WantedVerdicts
from reporting.refinement.given_preferences import count_preferences
from tests.reporting.builders import Built, build_configuration, build_study, findings, judge, rate
from tests.reporting.refinement.test_repair import build_four_systems, order_by_hand

pytestmark = [pytest.mark.django_db, pytest.mark.slow]
BOTH = ("--rater", "people", "--rater", "judge:fair")
IMPORTS = {
    "alpacaeval": ("import_alpacaeval", "annotations.json"),
    "arena": ("import_battles", "battles.json"),
    "label-studio": ("import_label_studio", "tasks.json"),
}
# That a judge could not be read is told by AlpacaEval's null alone; what was asked and what it cost is no verdict.
COMPARED = ("counts", "shown_first", "mean_consistency", "mean_preference_strength", "raw_agreement", "rating_sets")


@pytest.fixture
def built() -> Built:
    built = build_configuration(build_study("source"), instances=3, pairs=2)
    rate(built, 0, "ann", [-1, 1], a_is_left=[True, False])
    rate(built, 1, "ann", [0, 1], a_is_left=[False, False])
    rate(built, 0, "bob", [1, 1])
    rate(built, 2, "out", [1, 1])
    Annotator.objects.filter(code="out").update(excluded=True, exclusion_reason="clicked through")
    judge(built, "fair", [(0, 0, "ab", -1), (0, 1, "ba", 1), (1, 0, "ba", 0), (1, 1, "ab", "unparsed")])
    return built


def export(form: str, out: Path, *more: str) -> None:
    call_command("export_preferences", "source", "--as", form, "--out", str(out), *more)


def told(study: Study) -> dict[str, dict[str, Any]]:
    [configuration] = findings(study)["configurations"]
    return {one["rater"]: {name: one.get(name) for name in COMPARED} for one in configuration["raters"]}


@pytest.mark.parametrize("form", IMPORTS)
def test_what_is_exported_comes_back_with_the_same_findings(form: str, built: Built, tmp_path: Path) -> None:
    export(form, tmp_path, *BOTH)
    before = told(built.study)
    Judge.objects.filter(name="fair").update(name="the-same-in-another-database")
    command, name = IMPORTS[form]
    call_command(command, str(tmp_path / name), "--study", "copy")

    copy = Study.objects.get(slug="copy")
    after = told(copy)
    assert after["people"] == before["people"]
    assert after["judge:fair"]["counts"] == before["judge:fair"]["counts"]
    assert after["judge:fair"]["shown_first"] == before["judge:fair"]["shown_first"]
    count = Annotator.objects.filter(study=copy).count()
    call_command(command, str(tmp_path / name), "--study", "copy")
    assert Annotator.objects.filter(study=copy).count() == count == 2
    assert told(copy) == after


def test_the_files_are_those_of_the_tools(built: Built, tmp_path: Path) -> None:
    for form in IMPORTS:
        export(form, tmp_path / form, *BOTH)
    annotations = json.loads((tmp_path / "alpacaeval" / "annotations.json").read_text(encoding="utf-8"))
    assert len(annotations) == 10
    assert {one["preference"] for one in annotations if one["annotator"] == "ann"} == {1, 1.5, 2}
    assert [one["preference"] for one in annotations if one["annotator"] == "fair"] == [1, 2, 1.5, None]
    assert {one["generator_1"] for one in annotations} == {built.system_a.name}
    with (tmp_path / "alpacaeval" / "leaderboard.csv").open(encoding="utf-8") as file:
        [row] = csv.DictReader(file)
    # Of nine preferences for B six are wins, one (people: -1) and one (judge: -1) losses, two draws: (5 + 2 / 2) / 9.
    assert (row["n_wins"], row["n_wins_base"], row["n_draws"], row["n_total"]) == ("5", "2", "2", "9")
    assert float(row["win_rate"]) == pytest.approx(100 * (5 + 1) / 9)

    battles = json.loads((tmp_path / "arena" / "battles.json").read_text(encoding="utf-8"))
    assert len(battles) == 9
    first = battles[1]  # ann's second vote: B, whose text was on the left
    assert (first["model_a"], first["winner"], first["judge"]) == (built.system_b.name, "model_a", "ann")
    assert [one["role"] for one in first["conversation_a"]] == ["user", "assistant"]
    assert {one["judge"] for one in battles} == {"ann", "bob", "judge:fair"}

    tasks = json.loads((tmp_path / "label-studio" / "tasks.json").read_text(encoding="utf-8"))
    results = [one["result"][0] for task in tasks for one in task["annotations"]]
    assert {one["type"] for one in results} == {"pairwise", "choices"}
    assert sum(len(task["predictions"]) for task in tasks) == 3
    assert "system" not in (tmp_path / "label-studio" / "labels.xml").read_text(encoding="utf-8")


def test_training_data_are_the_preferences_as_given(built: Built, tmp_path: Path) -> None:
    for form in ("trl", "instruction", "hf"):
        export(form, tmp_path / form)

    def rows(path: str) -> list[dict[str, Any]]:
        return [json.loads(line) for line in (tmp_path / path).read_text(encoding="utf-8").splitlines()]

    pairs = rows("trl/preferences.jsonl")
    assert len(pairs) == 5
    one = built.pairs[0][0]
    texts = {one.generation_a.text, one.generation_b.text}
    assert [row for row in pairs if {row["chosen"], row["rejected"]} == texts] == [
        {"prompt": one.matchup.instance.source, "chosen": chosen.text, "rejected": rejected.text,
         "source": "people", "instance_id": one.matchup.instance.instance_id, "negated": False}
        for chosen, rejected in ((one.generation_a, one.generation_b), (one.generation_b, one.generation_a))
    ]  # fmt: skip
    [tie] = rows("trl/ties.jsonl")
    assert tie["instance_id"] == built.matchups[1].instance.instance_id
    assert len(rows("instruction/instructions.jsonl")) == 10
    card = (tmp_path / "hf" / "README.md").read_text(encoding="utf-8")
    assert "REPAIR" not in card
    export("trl", tmp_path / "both", *BOTH)
    whose = [(row["chosen"], row["source"]) for row in rows("both/preferences.jsonl")]
    assert sum(source == "judge:fair" for _, source in whose) == 2
    assert (built.pairs[0][1].generation_b.text, "judge:fair") in whose
    with pytest.raises(CommandError, match="no ratings by judge:nobody"):
        export("trl", tmp_path, "--rater", "judge:nobody")


def test_strengths_are_margins_where_every_preference_has_one(built: Built, tmp_path: Path) -> None:
    Study.objects.update(strength=True)
    ratings = Rating.objects.exclude(verdict=0).order_by("pk")
    for number, rating in enumerate(ratings):
        Rating.objects.filter(pk=rating.pk).update(strength=1 + number % 2)

    def margins() -> list[Any]:
        export("trl", tmp_path)
        found = (tmp_path / "preferences.jsonl").read_text(encoding="utf-8").splitlines()
        return [json.loads(line).get("margin", "none") for line in found]

    assert sorted(margins()) == [1, 1, 1, 2, 2]
    rows = [json.loads(line) for line in (tmp_path / "preferences.jsonl").read_text(encoding="utf-8").splitlines()]
    first = built.pairs[0][0]  # ann preferred A, and bob B, whose votes are the first and the fourth
    said = {row["chosen"]: row["margin"] for row in rows if first.generation_a.text in (row["chosen"], row["rejected"])
            and row["instance_id"] == first.matchup.instance.instance_id}  # fmt: skip
    assert said == {first.generation_a.text: 1, first.generation_b.text: 2}
    Rating.objects.filter(pk=ratings[0].pk).update(strength=None)
    assert margins() == ["none"] * 5


@pytest.mark.parametrize(("form", "name"), [("trl", "preferences.jsonl"), ("arena", "battles.json")])
def test_the_verdicts_on_two_systems_are_chosen(form: str, name: str, tmp_path: Path) -> None:
    order_by_hand(build_four_systems()[1])
    arguments = ("export_preferences", "tried", "--as", form, "--out")
    call_command(*arguments, str(tmp_path / "all"))
    call_command(*arguments, str(tmp_path / "two"), "--systems", "two", "one")
    rows = [(tmp_path / folder / name).read_text(encoding="utf-8").count('"instance_id"') for folder in ("all", "two")]
    assert rows == [3, 1]
    with pytest.raises(CommandError, match="study tried has no system five; it has one, two, three, four"):
        call_command(*arguments, str(tmp_path / "none"), "--systems", "one", "five")


ROWS: list[tuple[dict[str, Any], tuple[int, int | None], int]] = [
    ({}, (11, 4), 15),
    ({"without": ["ties"]}, (11, None), 11),
    ({"without": ["equal"]}, (8, 4), 12),
    ({"without": ["empty"]}, (8, 4), 12),
    ({"without": ["duplicates"]}, (6, 2), 8),
    ({"without": ["ties", "equal", "empty", "duplicates"]}, (4, None), 4),
    ({"votes": "majority"}, (3, 1), 4),
    ({"votes": "majority", "without": ["ties", "equal"]}, (2, None), 2),
]


@pytest.mark.parametrize(("options", "training", "verdicts"), ROWS)
def test_rows_are_left_out_and_counted_before(
    options: dict[str, Any], training: tuple[int, int | None], verdicts: int, tmp_path: Path
) -> None:
    """Pairs: A, A, B; three ties; equal texts; an empty text; A, B, tie."""
    built = build_configuration(build_study("source"), instances=1, pairs=5)
    for code, votes in {"ann": [-1, 0, -1, -1, -1], "bob": [-1, 0, -1, -1, 1], "cem": [1, 0, -1, -1, 0]}.items():
        rate(built, 0, code, votes)
    texts = [(pair.generation_a_id, pair.generation_b_id) for pair in built.pairs[0]]
    for pk in (pk for both in texts for pk in both):
        Generation.objects.filter(pk=pk).update(text=f"text {pk}")
    Generation.objects.filter(pk__in=texts[2]).update(text="the same")
    Generation.objects.filter(pk=texts[3][1]).update(text=" ")

    arguments = [f"--{name}={value}" for name, value in options.items() if isinstance(value, str)]
    if "without" in options:
        arguments += ["--without", *options["without"]]
    for form, expected in {
        "trl": {"preferences.jsonl": training[0], **({} if training[1] is None else {"ties.jsonl": training[1]})},
        "instruction": {"instructions.jsonl": 2 * training[0]},
        "alpacaeval": {"annotations.json": verdicts, "leaderboard.csv": 1},
        "arena": {"battles.json": verdicts},
    }.items():
        export(form, tmp_path / form, *arguments)
        assert count_preferences(built.study, form, WantedVerdicts(**options)) == expected
        assert {path.name for path in (tmp_path / form).iterdir()} == expected.keys()
    lines = (tmp_path / "trl" / "preferences.jsonl").read_text(encoding="utf-8").splitlines()
    assert len(lines) == training[0]
    battles = json.loads((tmp_path / "arena" / "battles.json").read_text(encoding="utf-8"))
    assert len(battles) == verdicts
    if "votes" in options:
        assert {json.loads(line)["source"] for line in lines} == {one["judge"] for one in battles} == {"majority"}
