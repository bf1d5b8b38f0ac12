"""How distinguishable systems are: numbers, advice, page, pictures, list, command and API."""

import json
import re
import shlex
from collections.abc import Sequence
from html import unescape
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest
from django.core.management import CommandError, call_command
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from analysis.similarity import get
from annotation.core.errors import UnknownName
from annotation.models import Annotator, Generation, SeparabilityRun, Study
from annotation.separability import measure as separability_measure
from annotation.studies.separability_runs import runs_by_configuration
from judging.models import Endpoint, GenerationRun
from reporting.core.charts import NO_DATA
from reporting.core.text import fixed
from reporting.findings.data.asked import similarity_named
from reporting.findings.study_findings import findings
from reporting.separability.arrays import MAX_RUNS, SeparabilityFilters, read_alignments, selected_configurations
from reporting.separability.distributions import MAX_BARS, distinguishable, distinguishable_on
from reporting.separability.instance_list import PAGE_SIZE
from reporting.separability.stability import stability_of
from tests.annotation.separability.separability_studies import FakeModel
from tests.factories import make_user, token_of
from tests.reporting.builders import Built, build_configuration, build_golden, build_study, judge, rate, separate

pytestmark = [pytest.mark.django_db, pytest.mark.slow]
PAGE = "reporting:separability"
A, TIE, B = -1, 0, 1
STEADY, TORN = [B, B], [A, B]
EVIL = "<script>alert(1)</script> \x1b[31m {{ 7 }}"
LEVELS = 8
DRAWN = "chrf, 2 generations, seed 1"


def by_run(*separabilities: float | None) -> list[tuple[float | None, float | None, float]]:
    """Return alignments of which these are the separabilities: both systems like themselves by 0.9."""
    return [(None, 0.9, 0.4) if value is None else (0.9, 0.9, 0.9 - value) for value in separabilities]


def spread(built: Built, values: Sequence[float | None], **settings: Any) -> Any:
    return separate(built, by_run(*values), values, **settings)


@pytest.fixture
def built() -> Built:
    """Twelve instances of separability 0.05 to 0.6; from 0.35 on people are steady, below it they are torn."""
    made = build_configuration(build_study(), instances=12, pairs=2)
    values = [round(0.05 * place, 2) for place in range(1, 13)]
    spread(made, values)
    for place, value in enumerate(values):
        for code in ("ann", "bob"):
            rate(made, place, code, STEADY if value > 0.32 else TORN)
    return made


@pytest.fixture
def reader() -> Client:
    client = Client()
    client.force_login(make_user("reader", "researcher"))
    return client


def only(found: dict[str, Any]) -> dict[str, Any]:
    (one,) = found["configurations"]
    return dict(one)


def people(found: dict[str, Any]) -> dict[str, Any]:
    return dict(only(found)["advice"]["raters"][0])


def body(client: Client, study: Study, **query: Any) -> str:
    answer = client.get(reverse(PAGE, args=[study.slug]), query)
    assert answer.status_code == 200
    return str(answer.content.decode())


# Numbers


def test_bars_get_wider_where_there_would_be_too_many() -> None:
    made = build_configuration(build_study(), instances=3, pairs=2)
    separate(made, [(0.9, 0.9, 0.4)] * 3, [-4000.0, 0.5, 50_000.0])
    (part,) = only(distinguishable(made.study))["similarities"]
    edges, counts = part["histogram"]["edges"], part["histogram"]["counts"]
    assert len(counts) <= MAX_BARS + 2
    assert (edges[0] <= -4000.0, edges[-1] >= 50_000.0, sum(counts)) == (True, True, 3)


def test_distribution_and_scenarios_by_hand(built: Built) -> None:
    one = only(distinguishable(built.study))
    (part,) = one["similarities"]
    assert (one["matchups"], one["similarity"], part["known"]) == (12, "rouge1", 12)
    assert part["mean"]["value"] == pytest.approx(0.325)
    assert part["mean"]["low"] < 0.325 < part["mean"]["high"]
    assert (part["least"], part["greatest"]) == (0.05, 0.6)
    assert part["quartiles"][1] == pytest.approx(0.325)
    assert sum(part["histogram"]["counts"]) == 12
    # Both are always like themselves; cross is 0.9 - separability, so that below 0.5 from 0.45 on (0.4 is at it or above).
    assert part["scenarios"]["counts"] == {
        "apart": 4,
        "scattered": 0,
        "one_steady": 0,
        "alike": 8,
        "other": 0,
        "missing": 0,
    }


def test_the_scale_of_a_run_decides_what_is_high(built: Built) -> None:
    separate(built, [(0.65, 0.55, 0.4)] * 12, [0.25] * 12, similarity="rouge1-length", bounds=(0.2, 1.0))
    part = only(distinguishable(built.study, SeparabilityFilters(similarity="rouge1-length")))["similarities"][0]
    # Halfway from 0.2 to 1 is 0.6: one self is above it, the other and the cross don't.
    assert part["scenarios"]["counts"]["one_steady"] == 12
    medians = only(distinguishable(built.study, SeparabilityFilters(similarity="rouge1-length", threshold="median")))
    assert medians["similarities"][0]["scenarios"]["thresholds"]["kind"] == "median"
    assert medians["similarities"][0]["scenarios"]["counts"]["one_steady"] == 0


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
    assert "two generations or more" in body(reader, built.study)


def test_similarities_are_compared_by_rank(built: Built) -> None:
    values = [round(0.05 * place, 2) for place in range(1, 13)]
    spread(built, [None, *values[:0:-1]], similarity="rouge1-length")
    one = only(distinguishable(built.study))
    (pair,) = one["correlations"]
    assert pair["between"] == ["rouge1-length", "rouge1"]
    assert (pair["value"], pair["n"], pair["excluded"]) == (-1, 11, 1)
    assert "n = 11 instances with both" in body_of_page(built)


def body_of_page(built: Built) -> str:
    client = Client()
    client.force_login(make_user("another", "researcher"))
    return body(client, built.study)


# Advice


def test_advice_finds_where_people_become_steady(built: Built) -> None:
    found = people(distinguishable(built.study))
    assert (found["reading"], found["separated"], found["rating_sets"], found["instances"]) == (
        "threshold",
        True,
        24,
        12,
    )
    # Torn up to 0.3, steady from 0.35 on: a step halfway between.
    assert found["threshold"]["value"] == pytest.approx(0.325)
    assert (found["slope"]["value"], found["slope"]["low"]) == (None, None)
    cut = found["cuts"][0]
    assert (cut["matchups_below"], cut["matchups_known"]) == (6, 12)
    assert cut["kept"]["value"] == 1
    assert cut["all"]["value"] == 0.5
    assert cut["left_out"]["value"] == cut["steady_left_out"]["value"] == 0
    assert cut["gain"]["value"] == 0.5
    # Five pairs and three raters by the study's settings.
    assert (cut["ratings_saved"], cut["ratings_planned"]) == (6 * 15, 12 * 15)


def test_all_is_one_number_whatever_is_cut(built: Built) -> None:
    cuts = people(distinguishable(built.study))["cuts"]
    assert len({json.dumps(cut["all"]) for cut in cuts}) == 1
    assert [cut["cut"] for cut in cuts[1:]] == ["lowest 10%", "lowest 25%", "lowest 50%"]


def test_consistency_that_falls_is_no_reason_to_choose(reader: Client) -> None:
    made = build_configuration(build_study(), instances=12, pairs=2)
    spread(made, [0.05 * place for place in range(1, 13)])
    for place in range(12):
        rate(made, place, "ann", STEADY if place < 6 else TORN)
    found = people(distinguishable(made.study))
    assert found["reading"] == "falling"
    assert found["threshold"]["value"] is None
    assert "does not rise" in found["threshold"]["why"]
    assert "Don’t choose by it." in body(reader, made.study)


def test_what_chance_brings_is_called_open() -> None:
    made = build_configuration(build_study(), instances=20, pairs=2)
    spread(made, [0.03 * place for place in range(20)])
    for place in range(20):
        rate(made, place, "ann", STEADY if place % 2 else TORN)
    assert people(distinguishable(made.study))["reading"] == "unsure"


def test_slope_that_may_be_rising_is_not_called_falling(reader: Client) -> None:
    made = build_configuration(build_study(), instances=20, pairs=2)
    spread(made, [0.03 * place for place in range(20)])
    for place in range(20):
        rate(made, place, "ann", TORN if place % 2 else STEADY)  # the fitted slope is below 0, its interval holds 0
    found = people(distinguishable(made.study))
    assert found["slope"]["value"] < 0
    assert found["reading"] == "unsure"


def rising_above_a_half() -> Built:
    """Twenty instances: a sixth of the sets on the lower half is torn: consistency is above a half everywhere."""
    made = build_configuration(build_study(), instances=20, pairs=2)
    spread(made, [0.03 * place for place in range(20)])
    for place in range(20):
        for code in ("ann", "bob", "cleo"):
            rate(made, place, code, TORN if place in (0, 2, 4, 6, 8) and code == "ann" else STEADY)
    return made


def test_reading_says_what_leaving_out_gains_where_consistency_rises(reader: Client, capsys: Any) -> None:
    made = rising_above_a_half()
    found = people(distinguishable(made.study))
    assert found["reading"] == "below support"
    assert found["slope"]["low"] is None or found["slope"]["low"] > 0
    gain = found["lowest_quarter"]["gain"]
    # Steady are 55 of all 60 sets, and 43 of the 45 on the 15 higher of the 20 instances.
    assert gain["value"] == pytest.approx(43 / 45 - 55 / 60)

    said = f"changes the mean consistency by {fixed(gain['value'])} [{fixed(gain['low'])}, {fixed(gain['high'])}]"
    page = " ".join(body(reader, made.study).split())
    assert said in page
    assert "nothing is gained" not in page
    call_command("separability_advice", made.study.slug)
    assert said in capsys.readouterr().out


def test_few_sets_are_not_read(reader: Client) -> None:
    made = build_configuration(build_study(), instances=3, pairs=2)
    spread(made, [0.1, 0.2, 0.3])
    rate(made, 0, "ann", TORN)
    rate(made, 2, "ann", STEADY)
    assert people(distinguishable(made.study))["reading"] == "too few"
    assert "Too few rating sets" in body(reader, made.study)


def test_many_sets_on_few_instances_are_not_read(reader: Client) -> None:
    # 15 sets, but three instances: resamples of three say next to nothing of how others would turn out.
    made = build_configuration(build_study(), instances=3, pairs=2)
    spread(made, [0.1, 0.2, 0.3])
    for rater in range(5):
        for place in range(3):
            rate(made, place, f"ann-{rater}", STEADY if rater < 1 + 1.5 * place else TORN)
    found = people(distinguishable(made.study))
    assert (found["rating_sets"], found["instances"], found["reading"]) == (15, 3, "too few")
    assert "too few instances" in body(reader, made.study)


def test_judges_have_an_advice_of_their_own(built: Built) -> None:
    cells = [(place, pair, "ab", B if place > 2 or pair else A) for place in range(12) for pair in range(2)]
    judge(built, "longest", cells)
    found = only(distinguishable(built.study))["advice"]["raters"]
    assert [one["rater"] for one in found] == ["people", "judge:longest"]
    assert found[1]["threshold"]["value"] == pytest.approx(0.175)
    # A judge is asked once for each pair.
    assert found[1]["ratings_per_matchup"] == 5


def test_a_rating_without_a_separability_is_left_out_and_counted(built: Built) -> None:
    run = built.study.separability_runs.get()
    run.alignments.filter(matchup=built.matchups[0]).update(separability=None)
    found = people(distinguishable(built.study))
    assert (found["rating_sets"], found["excluded"]) == (22, 2)
    assert found["cuts"][0]["matchups_without_separability"] == 1


def test_excluded_raters_are_not_asked(built: Built) -> None:
    Annotator.objects.filter(code="bob").update(excluded=True)
    assert people(distinguishable(built.study))["rating_sets"] == 12


def test_the_same_seed_gives_the_same_numbers(built: Built) -> None:
    first, again, other = (
        distinguishable(built.study, SeparabilityFilters(seed=seed, rounds=60)) for seed in (1, 1, 2)
    )
    assert again == first
    assert people(other)["curve"] != people(first)["curve"]


def test_several_configurations_are_pooled_on_one_scale(built: Built) -> None:
    other = build_configuration(built.study, instances=12, pairs=2, dataset="chat")
    # Raw alignments up to 1.9: on the study's scale, from 0.3 to 1.9, raw differences count 1 / 1.6.
    separate(
        other,
        [(1.9, 1.9, 1.9 - 0.05 * place) for place in range(1, 13)],
        [0.05 * place for place in range(1, 13)],
    )
    for place in range(12):
        rate(other, place, "cid", STEADY if place > 5 else TORN)
    pooled = distinguishable(built.study)["pooled_advice"]
    assert pooled["normalisation"] == {"group": "study", "min": pytest.approx(0.3), "max": pytest.approx(1.9)}
    (found,) = pooled["raters"]
    assert (found["rating_sets"], found["instances"]) == (36, 24)
    assert found["threshold"]["value"] == pytest.approx(0.325 / 1.6)


def test_unlike_similarities_are_not_pooled(built: Built) -> None:
    other = build_configuration(built.study, instances=3, pairs=1, dataset="chat")
    spread(other, [0.1, 0.2, 0.3], similarity="rouge1-length")
    assert "one and the same similarity" in distinguishable(built.study)["pooled_advice"]["why"]
    # Nor are two models one that have the same name.
    for run in (
        spread(built, [0.2] * 11 + [0.4], similarity="cosine"),
        spread(other, [0.1, 0.2, 0.3], similarity="cosine"),
    ):
        SeparabilityRun.objects.filter(pk=run.pk).update(
            similarity="cosine", model="own", model_fingerprint=str(run.pk)
        )
    assert "one and the same similarity" in distinguishable(built.study)["pooled_advice"]["why"]


def test_published_ratings_are_read_as_they_were() -> None:
    built = build_golden(build_study(), "vicuna_mistral_samsum")
    spread(built, np.random.default_rng(0).uniform(0, 0.8, len(built.matchups)).round(6).tolist())
    found = people(distinguishable(built.study))
    assert found["rating_sets"] == 150
    assert found["cuts"][-1]["all"]["value"] == pytest.approx(0.468, abs=5e-4)


# Temperatures


def test_temperatures_of_the_same_models_stand_together(built: Built, reader: Client) -> None:
    endpoint = Endpoint.objects.create(name="local", base_url="http://localhost/v1", model="small")
    study = build_study("heated")
    for heat in ("0.2", "0.8"):
        systems = (f"small-{heat}", f"large-{heat}")
        one = build_configuration(study, instances=3, pairs=2, systems=systems, prefix=f"x{heat}")
        spread(one, [0.1, 0.2, 0.3] if heat == "0.2" else [0.2, 0.3, 0.5])
        for name in systems:
            settings = {"model": name.split("-")[0], "temperature": float(heat), "samples": 2, "seed": 1}
            GenerationRun.objects.create(
                study=study, endpoint=endpoint, name=name, params={"temperature": float(heat)}, **settings
            )
    (group,) = distinguishable(study)["temperatures"]
    assert sorted(group["models"]) == ["large", "small"]
    assert [row["temperatures"] for row in group["rows"]] == [[0.2, 0.2], [0.8, 0.8]]
    # Raw alignments from 0.4 to 0.9, so that a raw difference counts double.
    assert [row["mean"]["value"] for row in group["rows"]] == pytest.approx([0.4, 2 * 1 / 3])
    drawn = json.loads(reader.get(chart_path(study, "temperatures", "json")).content)["data"]["values"]
    assert [row["temperatures"] for row in drawn] == ["0.2 · 0.2", "0.8 · 0.8"]
    assert [row["mean"] for row in drawn] == pytest.approx([0.4, 2 * 1 / 3])
    assert {(row["low"], row["high"]) for row in drawn} == {(None, None)}  # fewer instances than an interval takes
    assert "temperatures.png" in body(reader, study)
    assert "temperatures.png" not in body(reader, built.study)
    assert distinguishable(built.study)["temperatures"] == []


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


# Page


def test_page_of_an_empty_study_says_what_to_do(reader: Client) -> None:
    assert "no configuration yet" in body(reader, build_study())


def test_page_says_which_texts_a_similarity_cannot_see(built: Built, reader: Client) -> None:
    assert "no Latin letter" not in body(reader, built.study)
    seen = Generation.objects.filter(instance__study=built.study).first()
    assert seen is not None
    Generation.objects.filter(instance__study=built.study).exclude(pk=seen.pk).update(text="猫と犬")
    number = Generation.objects.filter(instance__study=built.study).count() - 1
    spread(built, [0.1] * 12, similarity="chrf")
    page = body(reader, built.study)
    assert page.count("no Latin letter") == 1
    assert f"{number} texts hold no Latin letter or digit, which is all that rouge1 compares" in page


def test_page_before_anything_was_computed_says_what_to_do(reader: Client) -> None:
    made = build_configuration(build_study(), instances=2)
    page = body(reader, made.study)
    assert "manage.py compute_separability tried" in page
    assert "separability has not been computed" in page


def test_page_of_one_configuration_has_everything(built: Built, reader: Client) -> None:
    page = body(reader, built.study)
    for part in ("scenarios", "side-by-side", "advice", "choose", "stability", "instances"):
        assert f'id="{part}"' in page
    assert re.search(
        r"Below a separability of 0\.3[23] \(no interval: fewer than 30 instances\) ratings are inconsistent", page
    )
    assert "What choosing by separability hides" in page
    assert page.count("<img") == 3
    assert "new/?" not in page  # a reader makes no batches


def test_who_manages_is_led_to_a_batch(built: Built) -> None:
    client = Client()
    client.force_login(make_user("boss", "study-admin"))
    page = body(client, built.study)
    addresses = re.findall(r'href="([^"]*batches/new/\?[^"]*)"', page)
    assert len(addresses) == 3
    form = client.get(addresses[2].replace("&amp;", "&")).content.decode()
    assert '<option value="importance" selected>' in form
    assert 'value="20"' in form
    assert "What choosing by separability hides" in form


def test_a_run_with_draws_begins_a_batch_that_chooses_by_it(built: Built) -> None:
    spread(built, [0.2] * 12, similarity="chrf")
    spread(built, [0.1] * 12, similarity="chrf", samples=2, seed=1)
    client = Client()
    client.force_login(make_user("boss", "study-admin"))
    page = body(client, built.study, similarity=DRAWN)
    address = re.findall(r'href="([^"]*batches/new/\?[^"]*)"', page)[0].replace("&amp;", "&")
    form = client.get(address).content.decode()
    assert f'<option value="{DRAWN}" selected>' in form


def test_draws_take_the_place_of_no_run_unless_they_are_named(built: Built, reader: Client) -> None:
    # The fixture's rouge1 is of all texts, by separability 0.05 to 0.6; the trial came later and says 0.1 of all.
    trial = spread(built, [0.1] * 12, similarity="rouge1", samples=2, seed=1)
    label = "rouge1, 2 generations, seed 1"
    assert trial.label == label
    (plain,), (named,) = (findings(built.study, similarity=name)["configurations"] for name in (None, label))
    assert (plain["separability"].get("samples"), named["separability"]["samples"]) == (None, 2)
    by_name = findings(built.study, similarity="rouge1")["configurations"][0]["separability"]["values"]
    assert sorted(by_name.values()) == [round(0.05 * place, 2) for place in range(1, 13)]
    assert only(distinguishable(built.study))["similarity"] == "rouge1"
    pooled = findings(built.study, similarity=label)["pooled"]
    assert pooled.get("samples") == 2
    page = reader.get(reverse("reporting:findings", args=[built.study.slug]), {"similarity": label})
    assert f'<option value="{label}" selected>' in page.content.decode()
    with pytest.raises(UnknownName, match=f"computed for {built.study.slug}: rouge1; {label}"):
        similarity_named(built.study, "rouge1, 9 generations, seed 1")


def test_two_models_of_one_name_both_have_a_row(built: Built, reader: Client) -> None:
    for digit, value in (("1", 0.1), ("2", 0.3)):
        spread(built, [value] * 12, similarity="cosine", model="letters", model_fingerprint=digit * 64)
    found = only(distinguishable(built.study))
    labels = {part["label"]: part["mean"]["value"] for part in found["similarities"]}
    assert labels["cosine (letters, 11111111)"] == pytest.approx(0.1)
    assert labels["cosine (letters, 22222222)"] == pytest.approx(0.3)
    page = body(reader, built.study, similarity="cosine (letters, 11111111)")
    assert '<option value="cosine (letters, 11111111)" selected>' in page


def test_a_batch_form_takes_no_strange_beginning(built: Built) -> None:
    client = Client()
    client.force_login(make_user("boss", "study-admin"))
    path = reverse("annotation:new-batch", args=[built.study.slug])
    form = client.get(path, {"how": EVIL, "number": EVIL, "similarity": EVIL, "dataset": EVIL})
    assert form.status_code == 200
    assert EVIL not in form.content.decode()


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


def test_every_instance_is_listed_in_the_scenario_that_it_is_counted_in(reader: Client) -> None:
    rng = np.random.default_rng(5)
    made = build_configuration(build_study(), instances=40, pairs=2)
    rows = [tuple(row) for row in rng.uniform(0.1, 0.7, (38, 3)).tolist()] + [(0.4, 0.4, 0.4), (None, 0.4, 0.4)]
    separate(made, rows, [None] + [0.0] * 39, bounds=(0.1, 0.7))
    for threshold in ("half", "median"):
        counts = only(distinguishable(made.study, SeparabilityFilters(threshold=threshold)))["similarities"][0][
            "scenarios"
        ]["counts"]
        for scenario, count in counts.items():
            page = body(reader, made.study, scenario=scenario, threshold=threshold)
            listed = len(re.findall(r"<strong>news-\d+</strong>", page))
            assert listed == min(count, PAGE_SIZE), (threshold, scenario)


def test_texts_of_the_list_are_escaped(built: Built, reader: Client) -> None:
    Generation.objects.filter(instance=built.matchups[11].instance_id).update(text=EVIL)
    page = body(reader, built.study)
    assert "<script>alert" not in page
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in page


def test_queries_do_not_grow_with_the_instances(reader: Client) -> None:
    counts = []
    for number, instances in enumerate((3, 30)):
        made = build_configuration(build_study(f"study-{number}"), instances=instances, pairs=2)
        spread(made, [0.02 * place for place in range(instances)])
        for place in range(instances):
            rate(made, place, "ann", STEADY)
        with CaptureQueriesContext(
            connection,
        ) as queries:
            body(reader, made.study, stability="1")
        counts.append(len(queries))
    assert abs(counts[0] - counts[1]) <= 2  # the count of a second page
    assert counts[1] < 60


def test_unknown_names_are_refused_in_words(built: Built, reader: Client) -> None:
    for filters in (
        SeparabilityFilters(dataset="nope"),
        SeparabilityFilters(systems=("nope",)),
        SeparabilityFilters(similarity="nope"),
    ):
        with pytest.raises(UnknownName, match="nope"):
            distinguishable(built.study, filters)
    assert reader.get(reverse(PAGE, args=["tried"]), {"threshold": "nope"}).status_code == 404
    assert "no such pair of systems" in body(
        reader, with_another_pair(built), dataset="news", system=["third-system", "second-system"]
    )


def with_another_pair(built: Built) -> Study:
    build_configuration(built.study, instances=1, dataset="chat", systems=("second-system", "third-system"))
    return built.study


# Stability


def test_stability_compares_texts_again(built: Built, reader: Client) -> None:
    for generation in Generation.objects.filter(instance__study=built.study):
        words = f"word{generation.index} same {'x' if generation.system == built.system_a else 'y'}{generation.index}"
        Generation.objects.filter(pk=generation.pk).update(text=words)
    page = body(reader, built.study, stability="1")
    assert "with two there is nothing to leave out" in page


def test_stability_of_long_texts_takes_fewer_instances(reader: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    made = build_configuration(build_study(), instances=6, pairs=3)
    spread(made, [0.1, 0.2, 0.3, 0.4, 0.5, 0.6])
    texts = Generation.objects.filter(instance__study=made.study)
    texts.update(text="long word " * 10)
    monkeypatch.setattr("reporting.separability.stability.MAX_CHARACTERS", 2 * 6 * 100)
    assert "2 of 6 instances, 20 draws each." in body(reader, made.study, stability="1")
    texts.update(text="long word " * 1000)
    page = body(reader, made.study, stability="1")
    assert "the texts are too long to be compared while a page waits" in page
    assert reader.get(chart_path(made.study, "stability"), {}).status_code == 200


def test_stability_is_shown_for_three_generations_and_more(reader: Client) -> None:
    made = build_configuration(build_study(), instances=5, pairs=4)
    spread(made, [0.1, 0.2, 0.3, 0.4, 0.5])
    rng = np.random.default_rng(0)
    for generation in Generation.objects.filter(instance__study=made.study):
        text = " ".join(rng.choice(["ash", "birch", "cedar", "elm", "fir"], 4))
        Generation.objects.filter(pk=generation.pk).update(text=text)
    page = body(reader, made.study, stability="1")
    assert "2 generations of each system" in page
    assert "3 generations of each system" in page
    assert "4 generations of each system" not in page
    assert "5 of 5 instances, 20 draws each" in page
    assert reader.get(chart_path(made.study, "stability"), {}).status_code == 200


@pytest.fixture
def letters(monkeypatch: pytest.MonkeyPatch) -> FakeModel:
    """Let every similarity that needs a model find this one."""
    fake = FakeModel()
    monkeypatch.setattr(separability_measure, "find_similarity_model", lambda needed, spec, **_: fake)
    return fake


def of_trees(**measure: Any) -> Built:
    """Return five instances of four texts a system, drawn from names of trees, with their separability."""
    made = build_configuration(build_study(), instances=5, pairs=4)
    rng = np.random.default_rng(0)
    for generation in Generation.objects.filter(instance__study=made.study):
        text = " ".join(rng.choice(["ash", "birch", "cedar", "elm", "fir"], 4))
        Generation.objects.filter(pk=generation.pk).update(text=text)
    spread(made, [0.1, 0.2, 0.3, 0.4, 0.5], **measure)
    return made


def stability_printed(capsys: Any, *options: str) -> dict[str, Any]:
    call_command("separability_stability", "tried", *options, "--format", "json")
    return dict(only(json.loads(capsys.readouterr().out))["stability"])


def test_stability_in_a_terminal_is_that_of_the_page(capsys: Any) -> None:
    made = of_trees()
    filters = SeparabilityFilters()
    runs = runs_by_configuration(made.study)
    on_page = stability_of(read_alignments(selected_configurations(made.study, filters)[0], runs), filters)
    assert [row["samples"] for row in on_page["samples"]] == [2, 3]
    assert stability_printed(capsys) == json.loads(json.dumps(on_page))
    (three,) = stability_printed(capsys, "--samples", "3")["samples"]
    assert three == json.loads(json.dumps(on_page["samples"][1]))
    call_command("separability_stability", "tried")
    assert "2 generations of each system: mean change 0." in capsys.readouterr().out
    with pytest.raises(CommandError, match="must be 2 or more"):
        call_command("separability_stability", "tried", "--samples", "1")


def test_stability_by_a_model_is_had_by_the_command_that_the_page_says(
    reader: Client, letters: FakeModel, capsys: Any
) -> None:
    made = of_trees(similarity="cosine", model="letters", model_fingerprint=letters.fingerprint)
    page = body(reader, made.study, stability="1")
    command = re.search(r"<code>manage.py (separability_stability [^<]*)</code>", page)
    assert command is not None
    assert not letters.read
    found = stability_printed(capsys, *shlex.split(unescape(command[1]))[2:])
    assert (found["similarity"], found["instances"]) == ("cosine (letters)", 5)
    assert found["samples"][0]["change"]["value"] > found["samples"][1]["change"]["value"] > 0
    assert len(letters.read) == 1  # the texts of all instances at once
    letters.fingerprint = "0" * 64
    with pytest.raises(CommandError, match="another model than letters here"):
        call_command("separability_stability", "tried")


def test_stability_of_a_run_with_draws_goes_by_the_similarity_alone(capsys: Any) -> None:
    made = of_trees()
    spread(made, [0.1] * 5, samples=3, seed=0)
    named = stability_printed(capsys, "--similarity", "rouge1, 3 generations, seed 0")
    assert named["similarity"] == "rouge1"
    assert named == stability_printed(capsys, "--similarity", "rouge1")


def test_a_similarity_with_a_model_is_not_loaded_by_a_page(reader: Client) -> None:
    made = build_configuration(build_study(), instances=2, pairs=3)
    spread(made, [0.1, 0.2], similarity="bertscore")
    assert "pages don&#x27;t load" in body(reader, made.study, stability="1")
    with pytest.raises(Exception, match="bertscore"):
        get("bertscore")


# Pictures


def chart_path(study: Study, name: str, form: str = "svg") -> str:
    return reverse("reporting:separability-chart", kwargs={"slug": study.slug, "name": name, "form": form})


@pytest.mark.parametrize("name", ["histograms", "similarities", "scatter", "consistency", "stability", "temperatures"])
def test_pictures_are_drawn_in_both_schemes(built: Built, reader: Client, name: str) -> None:
    for theme in ("light", "dark"):
        answer = reader.get(chart_path(built.study, name), {"theme": theme})
        assert answer["Content-Type"] == "image/svg+xml"
        assert answer["Content-Security-Policy"] == "default-src 'none'; sandbox"
        assert ElementTree.fromstring(answer.content).tag.endswith("svg")
    spec = json.loads(reader.get(chart_path(built.study, name, "json")).content)
    assert spec["$schema"].endswith("v6.json")
    assert reader.get(chart_path(built.study, name, "png")).content.startswith(b"\x89PNG")


def test_pictures_hold_the_numbers(built: Built, reader: Client) -> None:
    points = json.loads(reader.get(chart_path(built.study, "scatter", "json")).content)["data"]["values"]
    assert len(points) == 12
    assert {point["scenario"] for point in points} == {"1 two groups apart", "4 all alike"}
    bars = json.loads(reader.get(chart_path(built.study, "histograms", "json")).content)["data"]["values"]
    assert sum(bar["instances"] for bar in bars) == 12


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


def test_similarity_that_is_asked_for_is_shown_however_many_came_later(built: Built) -> None:
    for place in range(MAX_RUNS):
        spread(built, [0.1] * 11 + [0.4], similarity=f"own-{place}")
    one = only(distinguishable(built.study, SeparabilityFilters(similarity="rouge1")))
    assert (one["similarity"], one["not_shown"]) == ("rouge1", 1)
    assert one["advice"]["raters"][0]["reading"] == "threshold"
    assert [part["label"] for part in one["similarities"]].count("rouge1") == 1
    assert only(distinguishable(built.study))["similarity"] == f"own-{MAX_RUNS - 1}"


# JSON, API, command


def test_json_api_and_command_give_the_same(built: Built, reader: Client, capsys: Any) -> None:
    document = distinguishable(built.study)
    assert reader.get(reverse("reporting:separability-json", args=["tried"])).json() == document
    token = token_of(make_user("program", "researcher"))
    path = "/api/v1/studies/tried/distinguishable/"
    assert Client().get(path, HTTP_AUTHORIZATION=f"Token {token}").json() == document
    call_command("separability_advice", "tried", "--format", "json")
    assert json.loads(capsys.readouterr().out) == document


def test_command_prints_the_advice(built: Built, capsys: Any) -> None:
    Generation.objects.update(text=EVIL)
    call_command("separability_advice", "tried", "--dataset", "news", "--systems", "first-system")
    said = capsys.readouterr().out
    assert "below this separability ratings are inconsistent more often than not" in said
    assert "leave out below 0.325 (mean consistency of a half): 6 of 12 instances, saves 90 of 180 ratings" in said
    assert "Choosing by separability hides instances" in said


def test_command_refuses_what_makes_no_sense(built: Built) -> None:
    for wrong in (["--seed", "-1"], ["--systems", "a", "b", "c"], ["--similarity", "nope"]):
        with pytest.raises(CommandError):
            call_command("separability_advice", "tried", *wrong)


def test_command_works_before_anything_is_there(capsys: Any) -> None:
    build_study("empty")
    call_command("separability_advice", "empty")
    made = build_configuration(build_study("raw"), instances=1)
    call_command("separability_advice", made.study.slug)
    said = capsys.readouterr().out
    assert "no configuration" in said
    assert "separability has not been computed" in said
