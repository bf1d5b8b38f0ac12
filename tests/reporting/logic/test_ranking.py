"""Rankings of texts by a judge's stored answers."""

import json
from itertools import combinations
from pathlib import Path
from typing import Any

import pytest
from django.core.management import call_command
from django.core.management.base import CommandError

from judging.models import Judge, JudgeRun
from tests.reporting.builders import rate
from tests.reporting.logic.test_audit import in_order, let_judge
from tests.reporting.refinement.test_repair import SYSTEMS, build_four_systems

pytestmark = pytest.mark.django_db


def ranked(capsys: pytest.CaptureFixture[str], **options: Any) -> dict[str, Any]:
    call_command("rank", "tried", judge="fair", format="json", **options)
    found: dict[str, Any] = {one["method"]: one for one in json.loads(capsys.readouterr().out)["methods"]}
    return found


@pytest.mark.slow
def test_every_method_finds_an_order_without_contradictions(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    study, built = build_four_systems(instances=5)
    let_judge(study, built, in_order())
    for (a, b), one in built.items():
        for place in range(5):
            rate(one, place, f"p-{a}-{b}-{place}", [-1])
    picture = tmp_path / "rank.svg"
    found = ranked(capsys, seeds=3, picture=picture)
    assert set(found) == {"pairs", "pairs-beam", "swiss", "all-pairs"}
    for name in ("pairs", "pairs-beam", "all-pairs"):
        assert list(found[name]["mean_ranks"].items()) == [("one", 1), ("two", 2), ("three", 3), ("four", 4)]
        assert found[name]["spearman"]["value"] == found[name]["kendall"]["value"] == pytest.approx(1)
        assert found[name]["spearman"]["n_instances"] == 5
    assert found["all-pairs"]["comparisons"] == found["all-pairs"]["of_all"] == 5 * 6
    assert found["swiss"]["comparisons"] == 5 * 4
    assert found["pairs"]["comparisons"] < 5 * 6


@pytest.mark.slow
def test_the_only_judge_need_not_be_named(capsys: pytest.CaptureFixture[str]) -> None:
    study, built = build_four_systems()
    with pytest.raises(CommandError, match="name the judge; those that have run on study tried: none"):
        call_command("rank", study.slug)
    let_judge(study, built, in_order())
    call_command("rank", study.slug, method=["pairs"], format="json")
    found = json.loads(capsys.readouterr().out)
    assert (found["rater"], found["methods"][0]["mean_ranks"]["one"]) == ("judge:fair", 1)
    JudgeRun.objects.create(study=study, judge=Judge.objects.create(name="other", method="coin", seed=1), status="done")
    with pytest.raises(CommandError, match="tried: fair, other"):
        call_command("rank", study.slug)


@pytest.mark.slow
def test_a_judge_that_takes_the_first_is_helped_by_calibration_only(capsys: pytest.CaptureFixture[str]) -> None:
    study, built = build_four_systems()
    let_judge(study, built, dict.fromkeys(combinations(SYSTEMS, 2), "first"))
    first = ranked(capsys, method=["all-pairs"], seeds=20)["all-pairs"]
    assert first["mean_ranks"] != ranked(capsys, method=["all-pairs"], seeds=1)["all-pairs"]["mean_ranks"]
    assert first["spearman"]["value"] is None  # neither gold nor people
    rate(built["one", "two"], 0, "p", [-1])
    calibrated = ranked(capsys, method=["all-pairs"], calibrate=True, seeds=2)["all-pairs"]
    assert calibrated["spearman"]["n"] == 1


@pytest.mark.slow
def test_how_far_correlations_depend_on_the_order_of_the_texts_is_said(capsys: pytest.CaptureFixture[str]) -> None:
    study, built = build_four_systems()
    let_judge(study, built, dict.fromkeys(combinations(SYSTEMS, 2), "first"))
    for (a, b), one in built.items():
        rate(one, 0, f"p-{a}-{b}", [-1])
    one = ranked(capsys, method=["all-pairs"], seeds=1)["all-pairs"]
    both = ranked(capsys, method=["all-pairs"], seeds=2)["all-pairs"]
    first, mean = one["spearman"]["value"], both["spearman"]["value"]
    values = sorted((first, 2 * mean - first))  # the mean of two orders, of which the first is known
    assert values[0] < values[1]
    step = (values[1] - values[0]) / 40  # a fortieth from each end
    assert both["spearman_by_order"] == pytest.approx([values[0] + step, values[1] - step])
    assert one["spearman_by_order"] is one["kendall_by_order"] is None

    call_command("rank", study.slug, judge="fair", method=["all-pairs"], seeds=2)
    low, high = both["spearman_by_order"]
    assert f"spearman by order: {low:.4g}, {high:.4g}" in capsys.readouterr().out


@pytest.mark.slow
def test_instances_that_lack_an_answer_are_left_out_and_counted(capsys: pytest.CaptureFixture[str]) -> None:
    study, built = build_four_systems(instances=2)
    let_judge(study, built, {pair: name for pair, name in in_order().items() if pair != ("three", "four")})
    found = ranked(capsys, method=["all-pairs"], seeds=1)["all-pairs"]
    assert (found["instances"], found["left_out"], found["of_all"]) == (0, 2, 0)
    assert found["why_code"] == "not_asked"
    call_command("rank", study.slug, judge="fair", seeds=1)
    assert "left out: 2" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"judge": "nobody"}, "no judge nobody has run on study tried; those that have: fair"),
        ({"judge": "fair", "picture": Path("rank.gif")}, "ends in .svg or .png"),
    ],
)
def test_what_cannot_be_ranked_is_said(options: dict[str, Any], message: str) -> None:
    study, built = build_four_systems()
    let_judge(study, built, in_order())
    with pytest.raises(CommandError, match=message):
        call_command("rank", study.slug, **options)
