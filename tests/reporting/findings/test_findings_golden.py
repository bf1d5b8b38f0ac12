"""The published ratings through the database to findings: every number as computed independently of this project."""

import json
from typing import Any

import numpy as np
import pytest

from annotation.models import Pair, Study
from judging.models import Judge, JudgeRun, Judgment
from tests.reporting.builders import GOLDEN, GOLDEN_CONFIGURATIONS, build_golden, build_study, findings, separate

pytestmark = [pytest.mark.django_db, pytest.mark.slow]
EXACT = 1e-9


def golden(name: str) -> Any:
    return json.loads((GOLDEN / name).read_text(encoding="utf-8"))


@pytest.fixture(scope="module")
def published(module_rows: None) -> int:
    """Store both published configurations in one study, with their separability; return its row's number."""
    study = build_study()
    for key in GOLDEN_CONFIGURATIONS:
        built = build_golden(study, key)
        known = golden("alignments_rouge1.json")[key]
        columns = zip(known["self_A"], known["self_B"], known["cross_paper"], strict=True)
        separate(built, list(columns), known["norm_sep_paper"])
    return study.pk


@pytest.fixture
def study(published: int, db: None) -> Study:
    return Study.objects.get(pk=published)


@pytest.fixture(scope="module")
def found(published: int) -> dict[str, Any]:
    """Return the findings of that study; Elo's intervals, which alone are drawn, are no golden numbers."""
    return findings(Study.objects.get(pk=published), rounds=50)


def test_judge_of_the_published_study_has_no_alternative_annotator_verdict(study: Study) -> None:
    votes = {(p.matchup_id, p.index): p for p in Pair.objects.filter(matchup__instance__study=study)}
    made = Judge.objects.create(name="first", method="direct", params={})
    run = JudgeRun.objects.create(study=study, judge=made, status="done")
    Judgment.objects.bulk_create(
        Judgment(run=run, pair=pair, order="ab", status="parsed", verdict=-1) for pair in votes.values()
    )
    (found,) = findings(study, rounds=1)["replacement"]
    assert found["alternative_annotator"]["passes"] is None
    assert found["alternative_annotator"]["why_code"] == "few_tested"
    assert found["verdict"]["text"].endswith("no verdict: no rater rated more than 22 instances.")
    overall = found["non_inferiority"]["overall"]
    assert (overall["difference"]["n"], overall["difference"]["n_instances"]) == (1500, 100)
    assert sum(one["instances"] for one in found["non_inferiority"]["bins"]) == 100


@pytest.mark.parametrize("key", GOLDEN_CONFIGURATIONS)
def test_people_of_the_published_study_get_the_golden_numbers(found: dict[str, Any], key: str) -> None:
    summary = golden("human_summary.json")[key]
    dataset, a, b = GOLDEN_CONFIGURATIONS[key]
    one = {one["dataset"]: one for one in found["configurations"]}[dataset]
    assert (one["system_a"], one["system_b"]) == (a, b)
    assert (one["instances"], one["pairs"]) == (50, 250)
    people = one["raters"][0]
    assert people["raters"] == summary["n_workers"]
    assert (people["rating_sets"], people["ratings"]) == (150, 750)
    assert people["counts"] == {name.lower(): count for name, count in summary["rating_counts_model_coords"].items()}
    places = summary["rating_counts_display_coords"]
    assert people["shown_first"] == {
        "first": places["first_shown"],
        "tie": places["tie"],
        "second": places["second_shown"],
    }
    assert people["consistency_distribution"] == summary["consistency_distribution_counts"]
    assert people["fully_consistent"]["value"] == pytest.approx(summary["proportion_perfectly_consistent"], abs=EXACT)
    assert people["preference_strength_distribution"] == summary["pref_strength_distribution_counts"]
    assert people["mean_consistency"]["value"] == pytest.approx(summary["mean_consistency"], abs=EXACT)
    assert people["mean_preference_strength"]["value"] == pytest.approx(summary["mean_pref_strength"], abs=EXACT)
    assert people["raw_agreement"]["value"] == pytest.approx(summary["pairwise_percent_agreement"], abs=EXACT)
    assert people["raw_agreement"]["n"] == 750  # three pairs of raters on each of 250 pairs
    for level in ("nominal", "ordinal", "interval"):
        alpha = people["krippendorff_alpha"][level]
        assert alpha["value"] == pytest.approx(summary[f"krippendorff_alpha_{level}"], abs=EXACT)
        assert alpha["low"] < alpha["value"] < alpha["high"]
        assert alpha["n"] == 250


def test_agreement_of_people_is_pooled_over_both_configurations(found: dict[str, Any]) -> None:
    people = [one["raters"][0]["raw_agreement"]["value"] for one in found["configurations"]]
    pooled = found["pooled"]["people_agreement"]
    assert pooled["raw_agreement"]["value"] == pytest.approx(sum(people) / 2, abs=EXACT)  # 750 pairs of votes each
    alpha = pooled["krippendorff_alpha"]["ordinal"]
    assert alpha["low"] < alpha["value"] < alpha["high"]
    assert (alpha["n"], alpha["n_instances"]) == (500, 100)


def test_configurations_come_in_the_order_of_their_names(found: dict[str, Any]) -> None:
    assert [one["dataset"] for one in found["configurations"]] == ["cnn_dm", "samsum"]


@pytest.mark.parametrize("key", GOLDEN_CONFIGURATIONS)
def test_bins_of_the_published_study_hold_every_set_once(found: dict[str, Any], key: str) -> None:
    known = golden("alignments_rouge1.json")[key]["norm_sep_paper"]
    items = golden("human_rating_sets.json")[key]
    one = {one["dataset"]: one for one in found["configurations"]}[GOLDEN_CONFIGURATIONS[key][0]]
    edges = one["separability"]["edges"]
    assert edges == pytest.approx(np.linspace(min(known), max(known), 5), abs=EXACT)
    for index, bin_ in enumerate(one["raters"][0]["bins"]):
        # The plain way: walk over the instances, the last bin closed above.
        inside = [
            item
            for item, value in zip(items, known, strict=True)
            if edges[index] <= value < edges[index + 1] or (index == 3 and value == edges[4])
        ]
        consistencies = [one["consistency"] for item in inside for one in item["sets"]]
        assert bin_["instances"] == len(inside)
        assert bin_["rating_sets"] == len(consistencies)
        assert bin_["mean_consistency"]["value"] == pytest.approx(np.mean(consistencies), abs=EXACT)
        assert sum(bin_["consistency_distribution"].values()) == len(consistencies)


def test_pooled_bins_use_the_study_wide_normalisation(found: dict[str, Any]) -> None:
    known = golden("alignments_rouge1.json")
    pooled_values = [value for key in GOLDEN_CONFIGURATIONS for value in known[key]["poolnorm_sep_paper"]]
    pooled = found["pooled"]
    assert pooled["similarity"] == "rouge1"
    edges = pooled["edges"]
    assert edges == pytest.approx(np.linspace(min(pooled_values), max(pooled_values), 6), abs=EXACT)
    everything = [
        (value, item["mean_consistency"])
        for key in GOLDEN_CONFIGURATIONS
        for value, item in zip(known[key]["poolnorm_sep_paper"], golden("human_rating_sets.json")[key], strict=True)
    ]
    (consistent,) = pooled["fully_consistent"]
    assert (consistent["rater"], consistent["value"], consistent["n"]) == ("people", (34 + 56) / 300, 300)
    assert consistent["low"] < 0.3 < consistent["high"]
    strengths = [bin_["raters"][0] for bin_ in pooled["strength_by_bin"]]
    counts = [sum(one["preference_strength_distribution"].values()) for one in strengths]
    assert counts == [one["rating_sets"] for one in strengths]
    assert [bin_["raters"][0]["kappa"]["n"] for bin_ in pooled["agreement_by_bin"]] == [5 * n for n in counts]
    bins = pooled["mean_consistency_by_bin"]
    assert [bin_["instances"] for bin_ in bins] == np.histogram(pooled_values, edges)[0].tolist()
    for index, bin_ in enumerate(bins):
        inside = [
            mean
            for value, mean in everything
            if edges[index] <= value < edges[index + 1] or (index == 4 and value == edges[5])
        ]
        people = bin_["raters"][0]
        # Three sets on every instance, so the mean over sets is the mean over instances.
        assert people["mean_consistency"]["value"] == pytest.approx(np.mean(inside), abs=EXACT)
        assert people["rating_sets"] == 3 * len(inside)


def test_rankings_of_the_published_study_count_wins_over_both_data_sets(found: dict[str, Any]) -> None:
    summary = golden("human_summary.json")
    cnn, samsum = (
        summary[key]["rating_counts_model_coords"] for key in ("gpt35_vicuna_cnndm", "vicuna_mistral_samsum")
    )
    by_measure = {ranking["measure"]: ranking for ranking in found["rankings"]}
    wins = {row["system"]: row for row in by_measure["win_rate"]["systems"]}
    # vicuna-7b is A in cnn_dm and B in samsum: its wins are 340 and 293, its ties 124 and 86, of 1,500.
    assert wins["vicuna-7b"]["value"] == pytest.approx((cnn["A"] + samsum["B"] + (124 + 86) / 2) / 1500, abs=EXACT)
    assert wins["vicuna-7b"]["n"] == 1500
    assert wins["mistral-7b"]["value"] == pytest.approx((samsum["A"] + 86 / 2) / 750, abs=EXACT)
    rates = {row["system"]: row["value"] for row in by_measure["win_loss_rate"]["systems"]}
    assert rates["gpt-3.5-turbo-instruct"] == pytest.approx((cnn["B"] - cnn["A"]) / 750, abs=EXACT)


def test_a_mean_over_sets_and_the_rates_of_its_systems_have_one_interval(found: dict[str, Any]) -> None:
    (samsum,) = [one for one in found["configurations"] if one["dataset"] == "samsum"]
    strength = samsum["raters"][0]["mean_preference_strength"]
    rates = {(ranking["measure"], row["system"]): row for ranking in found["rankings"] for row in ranking["systems"]}
    lost, won = (rates[measure, "mistral-7b"] for measure in ("win_loss_rate", "win_rate"))  # met in samsum alone, as A
    ends = [strength[end] for end in ("low", "value", "high")]
    assert [-lost[end] for end in ("high", "value", "low")] == pytest.approx(ends, abs=EXACT)
    assert [1 - 2 * won[end] for end in ("high", "value", "low")] == pytest.approx(ends, abs=EXACT)
    assert {one["n_instances"] for one in (strength, lost, won)} == {50}
