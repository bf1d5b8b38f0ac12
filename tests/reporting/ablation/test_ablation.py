"""Ways of judging side by side: every number by hand."""

import json
from math import sqrt
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse

from annotation.models import Study
from judging.ablation.judge_configurations import JudgeConfiguration, sc2
from judging.ablation.judges import judge_of
from judging.models import AspectSet, Endpoint, JudgeRun, Judgment, TableMaking
from reporting.ablation.charts import by_calls, by_samples
from reporting.ablation.files import COLUMNS, csv_rows, row_name, text
from reporting.ablation.study_ablation import ablation
from tests.reporting.ablation.setup import GOLD, TABLES, fill, pair, row_of
from tests.reporting.ablation.setup import asked as asked
from tests.reporting.ablation.setup import endpoint as endpoint
from tests.reporting.ablation.setup import reader as reader
from tests.reporting.ablation.setup import study as study
from tests.reporting.builders import build_configuration, build_study, rate

pytestmark = [pytest.mark.django_db, pytest.mark.slow]
PAGE = "reporting:ablation"


def test_every_number_by_hand(asked: Study) -> None:
    found = ablation(asked)
    assert found["gold"] == {"pairs": 4, "instances": 4, "a": 2, "tie": 1, "b": 1}
    assert (found["rounds"], found["reference"]) == (2, "direct")
    direct = row_of(found, "methods", "direct")
    # Round 1: i1 right, i2, i3, i4 wrong. Round 2: i1, i2, i4 right, no verdict on i3 is wrong.
    assert [one["value"] for one in direct["by_round"]] == [1 / 4, 3 / 4]
    assert direct["accuracy"]["value"] == 1 / 2
    assert (direct["accuracy"]["low"], direct["accuracy"]["n_instances"]) == (None, 4)
    assert direct["accuracy"]["sd_over_rounds"] == pytest.approx(sqrt(2 * 0.25**2))
    assert (direct["accuracy"]["n"], direct["accuracy"]["excluded"]) == (8, 0)
    assert "tie" in direct["accuracy"]["tie_rule"]
    assert direct["accuracy_of_verdicts"]["value"] == pytest.approx((1 / 4 + 3 / 3) / 2)
    assert (direct["accuracy_of_verdicts"]["n"], direct["accuracy_of_verdicts"]["excluded"]) == (7, 1)
    assert (direct["pairs"], direct["pairs_with_gold"], direct["rounds_done"]) == (5, 4, 2)
    assert direct["status"]["unparsed"] == 1
    assert direct["difference_to_direct"]["why"] == "it is the reference"


def test_difference_is_taken_pair_by_pair(asked: Study) -> None:
    row = row_of(ablation(asked), "samples", "sc2")
    assert row["accuracy"]["value"] == 3 / 4
    # i1 1 - 1, i2 1 - 1/2, i3 1 - 0, i4 0 - 1/2
    assert row["difference_to_direct"]["value"] == pytest.approx((0 + 0.5 + 1 - 0.5) / 4)
    assert row["difference_to_direct"]["n"] == 4
    assert row["difference_to_direct"]["why"] == "no interval: fewer than 5 instances"


def test_calls_and_tokens_are_those_of_a_verdict(asked: Study) -> None:
    found = ablation(asked)
    row, direct = row_of(found, "samples", "sc2"), row_of(found, "methods", "direct")
    calls = {kind: one["value"] for kind, one in row["calls_per_verdict"].items()}
    assert calls == {"total": 8, "table": 4, "comparator": 3, "verdict": 1}
    assert list(row["calls_per_verdict"]) == ["total", "table", "comparator", "verdict"]
    assert row["comparator_calls"] == 3
    assert {name: one["value"] for name, one in row["tokens_per_verdict"].items()} == {
        "total": 880, "prompt": 800, "completion": 80,
    }  # fmt: skip
    assert row["cost_per_verdict"]["value"] == pytest.approx(0.008)
    assert row["cost_per_verdict"]["currency"] == "USD"
    # Ten answers, nine verdicts: what the one without a verdict took is theirs.
    assert direct["calls_per_verdict"]["total"]["value"] == pytest.approx(10 / 9)
    assert direct["comparator_calls"] is None


def test_errors_and_open_cells_are_no_answers(study: Study, endpoint: Endpoint) -> None:
    fill(
        study,
        endpoint,
        JudgeConfiguration("cot"),
        {"i1": [-1, "error"], "i2": ["pending", 1], "i3": ["error", "pending"]},
    )
    row = row_of(ablation(study), "methods", "cot")
    assert [one["value"] for one in row["by_round"]] == [1.0, 0.0]
    assert [one["n"] for one in row["by_round"]] == [1, 1]
    assert (row["status"]["errors"], row["status"]["pending"], row["status"]["asked"]) == (2, 2, 4)
    assert row["accuracy"]["excluded"] == 2
    assert (row["rounds"], row["rounds_done"], row["rounds_begun"]) == (2, 0, 2)
    assert row["difference_to_direct"]["why"] == "direct was not asked at this endpoint"


def test_errors_where_nothing_is_known_are_not_left_out_of_the_accuracy(study: Study, endpoint: Endpoint) -> None:
    fill(study, endpoint, JudgeConfiguration("cot"), {"i1": [-1, "error"], "i5": ["error", "error"]})
    row = row_of(ablation(study), "methods", "cot")
    assert (row["accuracy"]["n"], row["accuracy"]["excluded"], row["status"]["errors"]) == (1, 1, 3)


def test_round_with_one_answer_is_begun_and_not_done(study: Study, endpoint: Endpoint) -> None:
    fill(study, endpoint, JudgeConfiguration("cot"), {
        "i1": [-1, -1, "pending"], "i2": ["error", "pending", "pending"], "i3": ["unparsed", "pending", "pending"],
    })  # fmt: skip
    found = ablation(study)
    row = row_of(found, "methods", "cot")
    assert (row["rounds"], row["rounds_done"], row["rounds_begun"]) == (3, 1, 1)
    assert "1/3 (1 begun)" in text(found)
    [told] = [one for one in csv_rows(found) if one["part"] == "methods"]
    assert (told["rounds_done"], told["rounds_begun"]) == (1, 1)


def test_tables_that_are_looked_at_are_of_the_same_pairs_in_every_row(
    study: Study, endpoint: Endpoint, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("judging.ablation.round_arrays.MAX_CHECKED_TABLES", 2)
    # Each pair has the same table in both rows; what differs is which pair was done first.
    names = list(GOLD)
    for one, order in ((sc2(1), names), (sc2(4), names[::-1]), (sc2(8), names[2:] + names[:2])):
        made = fill(study, endpoint, one, {name: [1] for name in names})
        for name in order:
            words = ["One", "fact", "second", "dragon", "wyvern"][: 1 + names.index(name)]
            rows = [{"aspect": word, "only_a": word, "both": "", "only_b": "griffin"} for word in words]
            record = {"samples": [{"rows": rows}], "winner": 0, "bracket": []}
            TableMaking.objects.create(judgment=made.judgments.get(pair=pair(study, name)), record=record)
    rows = ablation(study)["parts"]["samples"]
    assert [row["support"]["n"] for row in rows] == [2, 2, 2]
    assert len({row["support"]["value"] for row in rows}) == 1
    assert len({row["coverage"]["value"] for row in rows}) == 1
    # Whatever the intervals are drawn with.
    assert {row["support"]["value"] for row in ablation(study, seed=7)["parts"]["samples"]} == {
        rows[0]["support"]["value"]
    }


# ---- rows that differ in more than in how they judge


def under(study: Study, aspects: list[str]) -> AspectSet:
    versions = AspectSet.objects.filter(group=study.group)
    return AspectSet.objects.create(
        group=study.group, task="summarization", version=versions.count() + 1, aspects=aspects
    )


def test_rows_of_different_aspects_are_marked(reader: Client, study: Study, endpoint: Endpoint) -> None:
    under(study, ["One", "<b>Two</b>"])
    fill(study, endpoint, sc2(1), TABLES, kinds={"verdict": 1})
    fill(study, endpoint, sc2(4), TABLES, kinds={"verdict": 2}, aspects=["One", "<b>Two</b>"])
    found = ablation(study)
    assert found["differing"] == {"samples": ["aspects"], "grid": ["aspects"]}
    [former, holding] = found["parts"]["samples"]
    assert (former["aspects_name"], holding["aspects_name"]) == ("summarization (built in)", "summarization.v1")
    assert former["aspects_hash"] != holding["aspects_hash"]
    told = text(found)
    assert "summarization (built in)" in told
    assert "summarization.v1" in told
    assert "careful: these rows also differ in their aspects" in told
    assert [row["aspects_name"] for row in csv_rows(found) if row["part"] == "samples"] == [
        "summarization (built in)", "summarization.v1",
    ]  # fmt: skip
    assert "Careful: the rows also differ in their aspects" in json.dumps(by_samples(found, "light"))
    assert "Careful: the rows also differ in their aspects" in json.dumps(by_calls(found, "light"))
    page = reader.get(reverse(PAGE, args=[study.slug])).content.decode()
    assert "Not all compare under the same aspects" in page
    assert "Aspects summarization.v1" in page
    assert "Not all are about the same pairs" not in page


def test_rows_of_other_rounds_or_pairs_are_marked(reader: Client, study: Study, endpoint: Endpoint) -> None:
    fill(study, endpoint, sc2(1), {"i1": [1], "i2": [1]})
    fill(study, endpoint, sc2(4), {"i1": [1], "i3": [1]})
    assert ablation(study)["differing"]["samples"] == ["pairs"]  # as many, but others
    fill(study, endpoint, sc2(8), {"i1": [1, 1], "i2": [1, 1]})
    found = ablation(study)
    assert found["differing"]["samples"] == ["rounds", "pairs"]
    assert "careful: these rows also differ in their rounds, pairs" in text(found)
    page = reader.get(reverse(PAGE, args=[study.slug])).content.decode()
    assert "Not all have the same rounds" in page
    assert "Not all are about the same pairs" in page


def test_rows_that_only_judge_differently_are_not_marked(reader: Client, study: Study, endpoint: Endpoint) -> None:
    everything = (JudgeConfiguration("direct"), JudgeConfiguration("direct-aspects", aspects="offline"), sc2(8), sc2(1))
    for one in (*everything, sc2(8, aspects="online")):
        fill(study, endpoint, one, TABLES)
    found = ablation(study)
    assert found["differing"] == {}
    assert {row["pairs"] for rows in found["parts"].values() for row in rows} == {4}
    assert "areful" not in text(found) + json.dumps(by_samples(found, "light"))
    assert "Compare them with care" not in reader.get(reverse(PAGE, args=[study.slug])).content.decode()


def test_round_that_is_open_in_one_row_only_is_marked(study: Study, endpoint: Endpoint) -> None:
    fill(study, endpoint, sc2(1), {"i1": [1, 1], "i2": [1, 1]})
    fill(study, endpoint, sc2(4), {"i1": [1, "pending"], "i2": [1, "pending"]})
    assert ablation(study)["differing"]["samples"] == ["rounds"]


def test_agreement_with_people_needs_no_gold(endpoint: Endpoint) -> None:
    built = build_configuration(build_study(), instances=2, pairs=1)
    for code, verdicts in (("p", [-1, 1]), ("q", [-1, 1]), ("r", [1, -1])):
        for place, verdict in enumerate(verdicts):
            rate(built, place, code, [verdict])
    judge = judge_of(JudgeConfiguration("direct"), endpoint=endpoint, rounds=2, seed=1, aspects=None)
    judge.save()
    run = JudgeRun.objects.create(study=built.study, judge=judge)
    for place, said in enumerate([(-1, -1), (-1, 1)]):
        for repeat, verdict in enumerate(said):
            Judgment.objects.create(
                run=run, pair=built.pairs[place][0], order="ab", repeat=repeat, status="parsed", verdict=verdict
            )
    found = ablation(built.study)
    row = row_of(found, "methods", "direct")
    assert row["agreement_with_majority"]["value"] == pytest.approx((1 / 2 + 2 / 2) / 2)
    assert row["agreement_with_majority"]["n"] == 4
    assert row["accuracy"]["value"] is None
    assert "gold" in row["accuracy"]["why"]
    assert "gold" in found["why"]
    [curve, points] = [draw(found, "light") for draw in (by_samples, by_calls)]
    assert "Nothing to draw yet" in json.dumps(curve)
    assert "gold" in json.dumps(points) or "Agreement" in json.dumps(points)


def test_support_and_coverage_are_those_of_the_tables_that_won(study: Study, endpoint: Endpoint) -> None:
    run = fill(study, endpoint, sc2(1), {"i1": [-1], "i2": [1]})
    rows = [
        # Of A's text; of both; of no text
        {"aspect": "x", "only_a": "second", "both": "fact", "only_b": "dragon"},
    ]
    for cell in run.judgments.all():
        TableMaking.objects.create(
            judgment=cell, record={"samples": [{"lost": "?"}, {"rows": rows}], "winner": 1, "bracket": []}
        )
    row = row_of(ablation(study), "samples", "sc2")
    assert row["support"]["value"] == pytest.approx(2 / 3)
    assert row["support"]["n"] == 2
    assert 0 < row["coverage"]["value"] < 1
    assert ablation(study, tables=False)["parts"]["samples"][0]["support"]["value"] is None


def test_nothing_yet_says_so(study: Study) -> None:
    found = ablation(study)
    assert found["why"] == "no judge of an ablation was asked yet"
    assert all(rows == [] for rows in found["parts"].values())
    assert "no judge of an ablation was asked yet" in text(found)


def test_parts_and_endpoints_narrow_what_is_shown(asked: Study) -> None:
    assert list(ablation(asked, parts=["samples"])["parts"]) == ["samples"]
    assert len(ablation(asked, parts=["samples"])["parts"]["samples"]) == 1
    assert ablation(asked, endpoint="elsewhere")["parts"]["methods"] == []


def test_numbers_do_not_depend_on_other_rows(asked: Study, endpoint: Endpoint) -> None:
    before = row_of(ablation(asked), "samples", "sc2")
    fill(asked, endpoint, sc2(1), TABLES)
    fill(asked, endpoint, JudgeConfiguration("cot"), TABLES)
    assert row_of(ablation(asked), "samples", "sc2", samples=4) == before


def test_queries_do_not_grow_with_rows(asked: Study, endpoint: Endpoint, django_assert_max_num_queries: Any) -> None:
    for one in (JudgeConfiguration("cot"), sc2(1), sc2(8), sc2(budget=8), JudgeConfiguration("self-consistency", 8)):
        fill(asked, endpoint, one, TABLES)
    with django_assert_max_num_queries(20):
        ablation(asked, tables=False)


def test_rows_as_csv_and_text(asked: Study) -> None:
    found = ablation(asked)
    rows = list(csv_rows(found))
    assert all(set(row) == set(COLUMNS) for row in rows)
    assert {row["part"] for row in rows} == {"methods", "samples", "grid"}
    assert "sc2, |C|=4, tournament, offline @ here" in text(found)
    assert "0.500" in text(found)
    assert row_name(row_of(found, "methods", "direct")) == "direct"


def test_pictures_are_drawn_of_plain_values(asked: Study) -> None:
    found = ablation(asked)
    curve = by_samples(found, "dark")
    [point] = curve["data"]["values"]
    assert (point["x"], point["value"], point["kind"]) == (4, 0.75, "here")
    points = by_calls(found, "light")["data"]["values"]
    assert sorted((point["x"], point["kind"]) for point in points) == [
        (pytest.approx(10 / 9), "single answers"),
        (8, "SC², tournament"),
    ]
