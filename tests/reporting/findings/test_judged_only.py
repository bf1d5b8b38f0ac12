"""Instances that a judge rated and no person was asked about, through the database to prediction-powered win rates."""

from typing import Any

import pytest

from annotation.models import Batch, Hit
from tests.reporting.builders import Built, build_batch, build_configuration, build_study, findings, judge, rate

pytestmark = pytest.mark.django_db
RATED, ALL = 60, 400
# Of 60 rated instances A wins 40 with the person, 32 of them with the judge too; of the 20 others 4 with the judge. Of the
# 340 others A wins 187 with the judge.
PERSON = [-1] * 40 + [1] * 20
JUDGE = [-1] * 32 + [1] * 8 + [-1] * 4 + [1] * 16 + [-1] * 187 + [1] * 153


@pytest.fixture(scope="module")
def built(module_rows: None) -> Built:
    built = build_configuration(build_study(), instances=ALL, pairs=1)
    Hit.objects.filter(pk__in=[hit.pk for hit in built.hits[RATED:]]).delete()
    for place, verdict in enumerate(PERSON):
        rate(built, place, "p", [verdict])
    judge(built, "j", [(place, 0, "ab", verdict) for place, verdict in enumerate(JUDGE)])
    return built


def powered(built: Built, **filters: Any) -> Any:
    return findings(built.study, rounds=1, **filters)["replacement"][0]["prediction_powered"][0]


def publish(built: Built, places: range, purpose: str = Batch.Purpose.RATING) -> Batch:
    """Publish further instances, which no person rates."""
    rows = [built.matchups[place] for place in places], [built.pairs[place] for place in places]
    batch = build_batch(built.study, built.dataset, built.system_a, built.system_b, *rows, name="more").batch
    Batch.objects.filter(pk=batch.pk).update(purpose=purpose)
    return batch


@pytest.mark.slow
def test_verdicts_on_instances_without_a_hit_sharpen_the_win_rate(built: Built) -> None:
    found = powered(built)
    assert (found["n_rated"], found["n_judged"]) == (60, 340)
    y, f, rest = 40 / 60, 36 / 60, 187 / 340
    covariance, of_all = 32 / 60 - y * f, 223 / 400
    coefficient = covariance / ((1 + 60 / 340) * of_all * (1 - of_all) * 400 / 399)
    assert found["coefficient"] == pytest.approx(coefficient)
    assert found["win_rate_a"]["value"] == pytest.approx(y - coefficient * (f - rest))
    assert found["plain"]["value"] == pytest.approx(y)
    of_difference = y * (1 - y) + coefficient**2 * f * (1 - f) - 2 * coefficient * covariance
    variance = of_difference / 59 + coefficient**2 * rest * (1 - rest) / 339
    assert found["effective_n"] == pytest.approx(60 * (y * (1 - y) / 59) / variance)
    assert found["effective_n"] > 75
    assert found["win_rate_a"]["n"] == 60


@pytest.mark.slow
def test_instances_of_a_batch_that_is_left_out_are_no_rest(built: Built) -> None:
    publish(built, range(RATED, 100))
    assert powered(built)["n_judged"] == 340
    assert powered(built, batches=[built.batch])["n_judged"] == 0


@pytest.mark.slow
def test_instances_that_serve_checks_only_are_left_out(built: Built) -> None:
    publish(built, range(RATED, 100), Batch.Purpose.GOLD)
    assert powered(built)["n_judged"] == 300


@pytest.mark.slow
def test_other_numbers_stay_on_the_hits(built: Built) -> None:
    found = findings(built.study, rounds=1)
    (configuration,) = found["configurations"]
    assert (configuration["instances"], configuration["raters"][1]["ratings"]) == (60, 60)
