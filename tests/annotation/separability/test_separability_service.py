"""Separability from the database: the same numbers as by hand, kept, and computed again only when texts changed."""

from typing import Any

import numpy as np
import pytest
from django.core.management import CommandError, call_command

from annotation.core.errors import AnnotationError, InvalidSelection
from annotation.importing.formats.study_file import InstanceRow
from annotation.models import Alignment, SeparabilityRun, Study
from annotation.separability.services import (
    compute_separability,
    count_ignored_texts,
    latest_run,
    latest_runs,
    require_run,
    separabilities,
)
from annotation.studies.configurations import configuration, configurations, matchup_counts
from annotation.studies.outcomes import select
from tests.annotation.separability.separability_studies import APART, MIXED, SAME, rows_of, study_of
from tests.factories import add_instances, make_study

pytestmark = [pytest.mark.django_db, pytest.mark.engine, pytest.mark.slow]


def values(study: Study, dataset: str = "news") -> list[float]:
    found = configuration(study, dataset=dataset, systems=("alpha", "beta"))
    run = latest_run(found)
    assert run is not None
    return separabilities(select(found).matchup_ids, run).tolist()


@pytest.mark.any_engine
def test_values_are_those_by_hand() -> None:
    study = study_of(SAME, APART, MIXED)

    (result,) = compute_separability(study=study)

    assert (result.changed, result.matchups, result.undefined) == (True, 3, 0)
    assert (result.run.low, result.run.high, result.run.group) == (0.0, 1.0, "configuration")
    assert values(study) == pytest.approx([0.0, 1.0, 0.75])
    raw = Alignment.objects.order_by("matchup__instance__position").values_list("self_a", "self_b", "cross")
    assert [list(values) for values in raw] == [[1, 1, 1], [1, 1, 0], [0.5, 1, 0.25]]


@pytest.mark.any_engine
def test_constants_stand_in_for_the_group() -> None:
    study = study_of(MIXED)

    (result,) = compute_separability(study=study, group="0,0.5")

    assert (result.run.low, result.run.high) == (0.0, 0.5)
    assert values(study) == pytest.approx([1.5])  # (1 − .25) / .5, and no clipping


@pytest.mark.any_engine
def test_only_the_configuration_that_is_constant_is_named() -> None:
    study = study_of(APART, MIXED)
    add_instances(study, rows_of(SAME, dataset="talk"))

    with pytest.raises(AnnotationError, match=r"^separability of talk: alpha / beta: every alignment"):
        compute_separability(study=study)
    assert len(compute_separability(study=study, group="study")) == 2


def test_a_system_with_one_text_has_no_separability_and_no_nought() -> None:
    study = study_of({"alpha": ["cat"], "beta": ["sun", "sea"]}, MIXED)

    (result,) = compute_separability(study=study)

    first = Alignment.objects.order_by("matchup__instance__position").first()
    assert (first.self_a, first.self_b, first.cross, first.separability) == (None, 0.0, 0.0, None)
    assert first.why_undefined == "system A with a single generation"
    assert result.undefined == 1
    assert np.isnan(values(study)[0])
    assert values(study)[1] == pytest.approx(0.75)


@pytest.mark.any_engine
@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"group": "planet"}, "group is 'planet'; it must be configuration, study, or MIN,MAX"),
        ({"group": "1,0"}, "MIN must be below MAX"),
        ({"group": "nan,1"}, "MIN must be below MAX"),
        ({"group": "-1e308,1e308"}, "group is '-1e308,1e308'; it has no length that can be counted with"),
        ({"group": "0,0.0000001"}, "scale 0,0.0000001 does not fit .* from 0 to 1.*Nothing was stored"),
        ({"group": "0,1e-320"}, "scale 0,1e-320 does not fit .* from 0 to 1.*Nothing was stored"),
        ({"group": "1,2,3"}, "it must be configuration, study, or MIN,MAX"),
        ({"model": "small"}, "rouge1 takes no model"),
        ({"similarity": "vibes"}, "unknown similarity 'vibes'; known: .*rouge1"),
        ({"dataset": "talk"}, "study study has no talk; it has news: alpha / beta"),
        ({"systems": ("alpha", "omega")}, "study study has no alpha / omega"),
        ({"dataset": "news", "group": "study"}, "leave out data set and systems"),
    ],
    ids=str,
)
def test_unknown_settings_are_named(settings: dict[str, Any], message: str) -> None:
    study = study_of(APART)

    with pytest.raises(AnnotationError, match=message):
        compute_separability(study=study, **settings)

    assert not SeparabilityRun.objects.exists()


@pytest.mark.any_engine
def test_a_study_without_matchups_is_told_what_to_do() -> None:
    with pytest.raises(AnnotationError, match="study study has no matchups; import instances"):
        compute_separability(study=make_study(instances=0))


@pytest.mark.parametrize(
    ("group", "computed", "expected"),
    [
        pytest.param("configuration", 1, [1.0, 0.75, 0.0], id="an instance"),
        pytest.param("-1,1", 0, [0.5, 0.375], id="the group"),  # half of it: the scale is twice as long
    ],
)
def test_only_what_changed_is_computed_again_and_replaces_the_old(
    group: str, computed: int, expected: list[float]
) -> None:
    study = study_of(APART, MIXED)
    (first,) = compute_separability(study=study)
    if computed:
        add_instances(study, [InstanceRow(9, "later", "news", "s", SAME)])

    (second,) = compute_separability(study=study, group=group)

    assert (second.changed, second.computed) == (True, computed)
    assert values(study) == pytest.approx(expected)
    assert SeparabilityRun.objects.get().group == group
    assert (second.run.texts_sha256 == first.run.texts_sha256) is (computed == 0)
    assert Alignment.objects.count() == len(expected)


def test_the_latest_run_is_found_and_a_missing_one_says_how_to_make_it() -> None:
    study = study_of(APART, MIXED)
    add_instances(study, rows_of(APART, dataset="talk"))
    news = configuration(study, dataset="news", systems=("beta", "alpha"))

    with pytest.raises(InvalidSelection, match=r"run: manage\.py compute_separability study --similarity rouge1"):
        require_run(news)
    compute_separability(study=study)

    assert require_run(news).dataset == "news"
    assert latest_run(news, "rouge1-length") is None
    assert {key: run.dataset for key, run in latest_runs(study).items()} == {
        one.key: one.dataset for one in configurations(study)
    }
    assert matchup_counts(study) == {one.key: count for one, count in zip(configurations(study), (2, 1), strict=True)}


@pytest.mark.any_engine
def test_texts_that_rouge_cannot_see_are_counted_and_told(capsys: pytest.CaptureFixture[str]) -> None:
    study = study_of({"alpha": ["猫", "犬 1"], "beta": ["日", "海"]}, APART)

    call_command("compute_separability", "study", "--similarity", "rouge1")

    assert count_ignored_texts(study, "rouge1") == 3
    captured = capsys.readouterr()
    assert "notice: 3 texts hold no Latin letter or digit" in captured.err
    assert captured.out.strip() == "news: alpha / beta: 2 matchups computed"


@pytest.mark.any_engine
def test_texts_that_rouge_cannot_see_are_told_also_where_nothing_comes_of_them(
    capsys: pytest.CaptureFixture[str],
) -> None:
    study_of({"alpha": ["猫", "犬"], "beta": ["日", "海"]})

    with pytest.raises(CommandError, match=r"constants such as 0,1") as refused:
        call_command("compute_separability", "study", "--similarity", "rouge1", "--group", "study")

    assert "(chrF)" in capsys.readouterr().err
    assert "Take as group study" not in str(refused.value)


def test_many_matchups_take_a_fixed_number_of_queries(django_assert_max_num_queries: Any) -> None:
    study = study_of(*[APART, MIXED] * 30)

    with django_assert_max_num_queries(14):
        compute_separability(study=study)

    assert Alignment.objects.count() == 60
