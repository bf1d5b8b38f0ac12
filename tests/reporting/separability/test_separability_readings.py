"""What is said of studies whose people, separabilities or systems are out of the ordinary."""

import re
from collections.abc import Callable
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest
from django.core.management import call_command
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from annotation.core.counting import fixed
from annotation.studies.configurations import runs_by_configuration
from judging.models import Endpoint, GenerationRun
from reporting.core.charts import NO_DATA
from reporting.separability.arrays import SeparabilityFilters
from reporting.separability.distributions import MAX_BARS
from reporting.separability.instance_list import PAGE_SIZE, instance_page
from reporting.separability.reading import distinguishable, distinguishable_on, read_alignments, selected_configurations
from tests.reporting.builders import build_configuration, build_golden, build_study, rate, separate
from tests.reporting.separability.pages import EVIL, STEADY, TORN, A, body, chart_path, only, people, spread

pytestmark = [pytest.mark.django_db, pytest.mark.slow]


def test_bars_get_wider_where_there_would_be_too_many() -> None:
    made = build_configuration(build_study(), instances=3, pairs=2)
    separate(made, [(0.9, 0.9, 0.4)] * 3, [-4000.0, 0.5, 50_000.0])
    (part,) = only(distinguishable(made.study))["similarities"]
    edges, counts = part["histogram"]["edges"], part["histogram"]["counts"]
    assert len(counts) <= MAX_BARS + 2
    assert (edges[0] <= -4000.0, edges[-1] >= 50_000.0, sum(counts)) == (True, True, 3)


def test_missing_separability_is_counted_with_its_reason(reader: Client) -> None:
    built = build_configuration(build_study(), instances=4, pairs=1)
    run = spread(built, [None, 0.2, 0.4, 0.6])
    run.alignments.get(matchup=built.matchups[3]).delete()
    part = only(distinguishable(built.study))["similarities"][0]
    assert (part["known"], part["single_generation"], part["not_computed"]) == (2, 1, 1)
    assert part["mean"]["excluded"] == 2
    assert part["scenarios"]["counts"]["missing"] == 2
    page = body(reader, built.study)
    assert "1 undefined: with one generation" in page
    assert "1 came after it was computed" in page


def test_nothing_has_a_separability(reader: Client) -> None:
    built = build_configuration(build_study(), instances=3, pairs=1)
    spread(built, [None, None, None])
    rate(built, 0, "ann", [A])
    found = distinguishable(built.study)
    part = only(found)["similarities"][0]
    assert (part["mean"]["value"], part["histogram"]) == (None, None)
    assert people(found)["reading"] == "nothing"


@pytest.mark.parametrize(
    ("instances", "steady", "reading"),
    [
        pytest.param(12, lambda place: place < 6, "falling", id="consistency falls"),
        pytest.param(20, lambda place: place % 2, "unsure", id="what chance brings"),
        pytest.param(20, lambda place: not place % 2, "unsure", id="a slope below 0 whose interval holds 0"),
    ],
)
def test_only_consistency_that_rises_for_certain_is_a_reason_to_choose(
    instances: int, steady: Callable[[int], bool], reading: str
) -> None:
    made = build_configuration(build_study(), instances=instances, pairs=2)
    spread(made, [0.03 * place for place in range(instances)])
    for place in range(instances):
        rate(made, place, "ann", STEADY if steady(place) else TORN)
    found = people(distinguishable(made.study))
    assert found["reading"] == reading
    if reading == "falling":
        assert (found["threshold"]["value"], found["threshold"]["why_code"]) == (None, "not_rising")


def test_reading_says_what_leaving_out_gains_where_consistency_rises(reader: Client, capsys: Any) -> None:
    # A sixth of the sets on the lower half is torn: consistency is above a half everywhere.
    made = build_configuration(build_study(), instances=20, pairs=2)
    spread(made, [0.03 * place for place in range(20)])
    for place in range(20):
        for code in ("ann", "bob", "cleo"):
            rate(made, place, code, TORN if place in (0, 2, 4, 6, 8) and code == "ann" else STEADY)
    found = people(distinguishable(made.study))
    assert found["reading"] == "below support"
    assert found["slope"]["low"] is None or found["slope"]["low"] > 0
    gain = found["lowest_quarter"]["gain"]
    # Steady are 55 of all 60 sets, and 43 of the 45 on the 15 higher of the 20 instances.
    assert gain["value"] == pytest.approx(43 / 45 - 55 / 60)

    said = f"{fixed(gain['value'])} [{fixed(gain['low'])}, {fixed(gain['high'])}]"
    page = " ".join(body(reader, made.study).split())
    assert f"changes the mean consistency by {said}" in page
    assert "nothing is gained" not in page
    call_command("separability_advice", made.study.slug)
    assert f"gain: {said}" in capsys.readouterr().out


def test_few_sets_are_not_read(reader: Client) -> None:
    made = build_configuration(build_study(), instances=3, pairs=2)
    spread(made, [0.1, 0.2, 0.3])
    rate(made, 0, "ann", TORN)
    rate(made, 2, "ann", STEADY)
    assert people(distinguishable(made.study))["reading"] == "too few"
    assert "Too few" in body(reader, made.study)


def test_many_sets_on_few_instances_are_not_read(reader: Client) -> None:
    # 15 sets, but three instances: resamples of three say next to nothing of how others would turn out.
    made = build_configuration(build_study(), instances=3, pairs=2)
    spread(made, [0.1, 0.2, 0.3])
    for rater in range(5):
        for place in range(3):
            rate(made, place, f"ann-{rater}", STEADY if rater < 1 + 1.5 * place else TORN)
    found = people(distinguishable(made.study))
    assert (found["rating_sets"], found["instances"], found["reading"]) == (15, 3, "too few")


def test_published_ratings_are_read_as_they_were() -> None:
    built = build_golden(build_study(), "vicuna_mistral_samsum")
    spread(built, np.random.default_rng(0).uniform(0, 0.8, len(built.matchups)).round(6).tolist())
    found = people(distinguishable(built.study))
    assert found["rating_sets"] == 150
    assert found["cuts"][-1]["all"]["value"] == pytest.approx(0.468, abs=5e-4)


def test_temperatures_stand_under_their_model_whichever_system_came_first() -> None:
    endpoint = Endpoint.objects.create(name="local", base_url="http://localhost/v1", model="small")
    study = build_study("heated")
    for name in ("large-0.8", "small-0.1", "large-0.2"):
        model, heat = name.split("-")
        settings = {"model": model, "temperature": float(heat), "params": {"temperature": float(heat)}}
        GenerationRun.objects.create(study=study, endpoint=endpoint, name=name, samples=2, seed=1, **settings)
    for systems in (("large-0.8", "small-0.1"), ("small-0.1", "large-0.2")):
        spread(build_configuration(study, instances=3, pairs=2, systems=systems, prefix=systems[1]), [0.1, 0.2, 0.3])
    (group,) = distinguishable(study)["temperatures"]
    assert group["models"] == ["large", "small"]
    assert [row["temperatures"] for row in group["rows"]] == [[0.2, 0.1], [0.8, 0.1]]
    assert [row["systems"] for row in group["rows"]] == [["large-0.2", "small-0.1"], ["large-0.8", "small-0.1"]]


def test_temperatures_have_no_scale_where_alignments_differ_by_rounding_alone() -> None:
    endpoint = Endpoint.objects.create(name="local", base_url="http://localhost/v1", model="small")
    study = build_study("heated")
    for heat in (0.2, 0.8):
        systems = (f"small-{heat}", f"large-{heat}")
        one = build_configuration(study, instances=2, pairs=2, systems=systems, prefix=f"x{heat}")
        separate(one, [(0.9, 0.9, 0.9), (0.9, 0.9000001, 0.9)], [0.0, 0.3])
        for name in systems:
            settings = {"model": name.split("-")[0], "temperature": heat, "params": {"temperature": heat}}
            GenerationRun.objects.create(study=study, endpoint=endpoint, name=name, samples=2, seed=1, **settings)
    (group,) = distinguishable(study)["temperatures"]
    assert [row["mean"]["value"] for row in group["rows"]] == [None, None]


def test_many_configurations_are_paged_without_their_details(reader: Client) -> None:
    study = build_study()
    for number in range(12):
        made = build_configuration(study, instances=2, pairs=2, dataset=f"set-{number:02}")
        spread(made, [0.1, 0.4])
    first, second = body(reader, study), body(reader, study, page="2")
    assert "set-09: first-system" in first
    assert "set-10: first-system" not in first
    assert "set-10: first-system" in second
    assert 'id="instances"' not in first
    assert 'id="advice"' not in first
    chosen = selected_configurations(study, SeparabilityFilters())
    assert len(distinguishable(study)["configurations"]) == len(chosen) == 12
    assert distinguishable_on(study, SeparabilityFilters(), chosen[:1], pooled=False)["pooled_advice"] is None


def test_list_is_sorted_and_narrowed(reader: Client) -> None:
    made = build_configuration(build_study(), instances=PAGE_SIZE + 5, pairs=2)
    values: list[float | None] = [round(0.01 * place, 2) for place in range(PAGE_SIZE + 4)]
    spread(made, [*values, None])

    def ids(**query: Any) -> list[str]:
        return re.findall(r"<strong>(news-\d+)</strong>", body(reader, made.study, **query))

    high, low = ids(), ids(order="low")
    assert (high[0], low[0], len(high)) == (f"news-{PAGE_SIZE + 3}", "news-0", PAGE_SIZE)
    assert ids(list_page="2")[-1] == ids(order="low", list_page="2")[-1] == f"news-{PAGE_SIZE + 4}"  # undefined: last
    assert ids(scenario="missing") == [f"news-{PAGE_SIZE + 4}"]
    assert ids(scenario="apart") == []
    assert ids(order="sideways", scenario="nonsense", list_page="zzz") == high


def test_every_instance_is_listed_in_the_scenario_that_it_is_counted_in() -> None:
    rng = np.random.default_rng(5)
    made = build_configuration(build_study(), instances=40, pairs=2)
    rows = [tuple(row) for row in rng.uniform(0.1, 0.7, (38, 3)).tolist()] + [(0.4, 0.4, 0.4), (None, 0.4, 0.4)]
    separate(made, rows, [None] + [0.0] * 39, bounds=(0.1, 0.7))
    (configuration,) = selected_configurations(made.study, SeparabilityFilters())
    one = read_alignments(configuration, runs_by_configuration(made.study), "", None)
    for kind in ("half", "median"):
        (part,) = only(distinguishable(made.study, SeparabilityFilters(threshold=kind)))["similarities"]
        for scenario, count in part["scenarios"]["counts"].items():
            page, _ = instance_page(one, one.by_run[0], kind=kind, order="high", scenario=scenario, page=None)
            assert page.paginator.count == count, (kind, scenario)


def test_queries_do_not_grow_with_the_instances(reader: Client) -> None:
    counts = []
    for number, instances in enumerate((3, 30)):
        made = build_configuration(build_study(f"study-{number}"), instances=instances, pairs=2)
        spread(made, [0.02 * place for place in range(instances)])
        for place in range(instances):
            rate(made, place, "ann", STEADY)
        with CaptureQueriesContext(connection) as queries:
            body(reader, made.study, stability="1")
        counts.append(len(queries))
    assert abs(counts[0] - counts[1]) <= 2  # the count of a second page
    assert counts[1] < 56


def test_pictures_of_nothing_say_so(reader: Client) -> None:
    made = build_configuration(build_study(), instances=2)
    for name in ("histograms", "similarities", "scatter", "consistency", "stability"):
        assert NO_DATA in reader.get(chart_path(made.study, name, "json")).content.decode()
    assert reader.get(chart_path(made.study, "nonsense")).status_code == 404
    assert reader.get(chart_path(made.study, "scatter"), {"theme": "pink"}).status_code == 404
    build_configuration(made.study, instances=1, dataset="chat")
    assert reader.get(chart_path(made.study, "scatter")).status_code == 404


def test_pictures_take_hostile_names_as_text(reader: Client) -> None:
    made = build_configuration(build_study(), instances=2, pairs=2, systems=(EVIL[:40], "plain"))
    spread(made, [0.1, 0.2])
    answer = reader.get(chart_path(made.study, "scatter"))
    assert b"<script" not in answer.content
    ElementTree.fromstring(answer.content)


def test_instances_with_one_source_are_one_cluster() -> None:
    made = build_configuration(build_study(), instances=36, pairs=2)
    spread(made, [0.02 * place for place in range(36)])
    for place in range(36):
        rate(made, place, "ann", STEADY if place % 3 else TORN)
    alone = distinguishable(made.study)
    for place, instance in enumerate(made.study.instances.order_by("position")):
        made.study.instances.filter(pk=instance.pk).update(source=f"source {place // 6}")
    clustered = distinguishable(made.study)
    (before,), (after,) = (only(found)["similarities"] for found in (alone, clustered))
    assert (before["mean"].get("n_clusters"), after["mean"]["n_clusters"], after["mean"]["n_instances"]) == (
        None,
        6,
        36,
    )
    assert after["mean"]["high"] - after["mean"]["low"] > 1.5 * (before["mean"]["high"] - before["mean"]["low"])
    slope, cut = people(clustered)["slope"], people(clustered)["lowest_quarter"]["gain"]
    assert (slope["n_clusters"], slope["n_instances"], slope["low"]) == (6, 36, None)
    assert people(alone)["slope"]["low"] is not None
    assert cut["n_instances"] == 27
