"""How distinguishable two systems are, of one study: numbers, advice, page, pictures, command and API."""

import json
import re
from typing import Any
from xml.etree import ElementTree

import pytest
from django.core.management import CommandError, call_command
from django.test import Client
from django.urls import reverse

from annotation.core.errors import UnknownName
from annotation.models import Annotator, Generation, SeparabilityRun
from judging.models import Endpoint, GenerationRun
from reporting.findings.data.asked import similarity_named
from reporting.separability.arrays import MAX_RUNS, SeparabilityFilters
from reporting.separability.reading import distinguishable
from tests.factories import make_user, signed_in, token_of
from tests.reporting.builders import Built, build_configuration, build_study, findings, judge, rate, separate
from tests.reporting.separability.pages import EVIL, PAGE, STEADY, TORN, A, B, body, chart_path, only, people, spread

pytestmark = [pytest.mark.django_db, pytest.mark.slow]
DRAWN = "chrf, 2 generations, seed 1"


def store() -> Built:
    """Twelve instances of separability 0.05 to 0.6; from 0.35 on people are steady, below it they are torn."""
    values = [round(0.05 * place, 2) for place in range(1, 13)]
    made = build_configuration(build_study(), instances=12, pairs=2)
    spread(made, values)
    for place, value in enumerate(values):
        for code in ("ann", "bob"):
            rate(made, place, code, STEADY if value > 0.32 else TORN)
    return made


@pytest.fixture(scope="module")
def document(stored: Built) -> dict[str, Any]:
    """What is found of the stored study by default."""
    return dict(distinguishable(stored.study))


def test_distribution_and_scenarios_by_hand(document: dict[str, Any]) -> None:
    one = only(document)
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


def test_similarities_are_compared_by_rank(built: Built) -> None:
    values = [round(0.05 * place, 2) for place in range(1, 13)]
    spread(built, [None, *values[:0:-1]], similarity="rouge1-length")
    one = only(distinguishable(built.study))
    (pair,) = one["correlations"]
    assert pair["between"] == ["rouge1-length", "rouge1"]
    assert (pair["value"], pair["n"], pair["excluded"]) == (-1, 11, 1)


def test_advice_finds_where_people_become_steady(document: dict[str, Any]) -> None:
    found = people(document)
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
    assert len({json.dumps(cut["all"]) for cut in found["cuts"]}) == 1
    assert [cut["cut"] for cut in found["cuts"][1:]] == ["lowest 10%", "lowest 25%", "lowest 50%"]


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
    Annotator.objects.filter(code="bob").update(excluded=True)
    assert people(distinguishable(built.study))["rating_sets"] == 11


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
        other, [(1.9, 1.9, 1.9 - 0.05 * place) for place in range(1, 13)], [0.05 * place for place in range(1, 13)]
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
    assert distinguishable(built.study)["pooled_advice"]["why_code"] == "no_shared_similarity"
    # Nor are two models one that have the same name.
    for run in (
        spread(built, [0.2] * 11 + [0.4], similarity="cosine"),
        spread(other, [0.1, 0.2, 0.3], similarity="cosine"),
    ):
        SeparabilityRun.objects.filter(pk=run.pk).update(
            similarity="cosine", model="own", model_fingerprint=str(run.pk)
        )
    assert distinguishable(built.study)["pooled_advice"]["why_code"] == "no_shared_similarity"


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


def test_page_says_which_texts_a_similarity_cannot_see(built: Built, reader: Client) -> None:
    assert "no Latin letter" not in body(reader, built.study)
    seen = Generation.objects.filter(instance__study=built.study).first()
    assert seen is not None
    Generation.objects.filter(instance__study=built.study).exclude(pk=seen.pk).update(text="猫と犬")
    number = Generation.objects.filter(instance__study=built.study).count() - 1
    spread(built, [0.1] * 12, similarity="chrf")
    page = body(reader, built.study)
    assert page.count("no Latin letter") == 1
    assert f"{number} texts hold no Latin letter or digit, the only characters that rouge1 compares" in page


def test_who_manages_is_led_to_a_batch(built: Built) -> None:
    client = signed_in(make_user("boss", "study-admin"))
    page = body(client, built.study)
    addresses = re.findall(r'href="([^"]*batches/new/\?[^"]*)"', page)
    assert len(addresses) == 3
    form = client.get(addresses[2].replace("&amp;", "&")).content.decode()
    assert '<option value="importance" selected>' in form
    assert 'value="20"' in form


def test_a_run_with_draws_begins_a_batch_that_chooses_by_it(built: Built) -> None:
    spread(built, [0.2] * 12, similarity="chrf")
    spread(built, [0.1] * 12, similarity="chrf", samples=2, seed=1)
    client = signed_in(make_user("boss", "study-admin"))
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
    client = signed_in(make_user("boss", "study-admin"))
    path = reverse("annotation:new-batch", args=[built.study.slug])
    form = client.get(path, {"how": EVIL, "number": EVIL, "similarity": EVIL, "dataset": EVIL})
    assert form.status_code == 200
    assert EVIL not in form.content.decode()


def test_unknown_names_are_refused_in_words(built: Built, reader: Client) -> None:
    for filters in (
        SeparabilityFilters(dataset="nope"),
        SeparabilityFilters(systems=("nope",)),
        SeparabilityFilters(similarity="nope"),
    ):
        with pytest.raises(UnknownName, match="nope"):
            distinguishable(built.study, filters)
    assert reader.get(reverse(PAGE, args=["tried"]), {"threshold": "nope"}).status_code == 404
    build_configuration(built.study, instances=1, dataset="chat", systems=("second-system", "third-system"))
    asked = {"dataset": "news", "system": ["third-system", "second-system"]}
    assert "no such pair of systems" in body(reader, built.study, **asked)


def test_pictures_hold_the_numbers(built: Built, reader: Client) -> None:
    for place, name in enumerate(("histograms", "similarities", "scatter", "consistency", "stability", "temperatures")):
        answer = reader.get(chart_path(built.study, name), {"theme": ("light", "dark")[place % 2]})
        assert answer["Content-Security-Policy"] == "default-src 'none'; sandbox"
        assert ElementTree.fromstring(answer.content).tag.endswith("svg")
    points = json.loads(reader.get(chart_path(built.study, "scatter", "json")).content)["data"]["values"]
    assert len(points) == 12
    assert {point["scenario"] for point in points} == {"1 two groups apart", "4 all alike"}
    bars = json.loads(reader.get(chart_path(built.study, "histograms", "json")).content)["data"]["values"]
    assert sum(bar["instances"] for bar in bars) == 12


def test_similarity_that_is_asked_for_is_shown_however_many_came_later(built: Built) -> None:
    for place in range(MAX_RUNS):
        spread(built, [0.1] * 11 + [0.4], similarity=f"own-{place}")
    one = only(distinguishable(built.study, SeparabilityFilters(similarity="rouge1")))
    assert (one["similarity"], one["not_shown"]) == ("rouge1", 1)
    assert one["advice"]["raters"][0]["reading"] == "threshold"
    assert [part["label"] for part in one["similarities"]].count("rouge1") == 1
    assert only(distinguishable(built.study))["similarity"] == f"own-{MAX_RUNS - 1}"


def test_json_api_and_command_give_the_same(document: dict[str, Any], reader: Client, capsys: Any) -> None:
    assert reader.get(reverse("reporting:separability-json", args=["tried"])).json() == document
    token = token_of(make_user("program", "researcher"))
    path = "/api/v1/studies/tried/distinguishable/"
    assert Client().get(path, HTTP_AUTHORIZATION=f"Token {token}").json() == document
    call_command("separability_advice", "tried", "--format", "json")
    assert json.loads(capsys.readouterr().out) == document


def test_command_refuses_what_makes_no_sense(built: Built) -> None:
    for wrong in (["--seed", "-1"], ["--systems", "a", "b", "c"], ["--similarity", "nope"]):
        with pytest.raises(CommandError):
            call_command("separability_advice", "tried", *wrong)
