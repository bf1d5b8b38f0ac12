"""Stability: separability with some of the generations left out, on the page and in a terminal."""

import json
import re
import shlex
from html import unescape
from typing import Any

import numpy as np
import pytest
from django.core.management import CommandError, call_command
from django.test import Client

from analysis.similarity.registry import get
from annotation.models import Generation
from annotation.separability import measure as separability_measure
from annotation.studies.configurations import runs_by_configuration
from reporting.separability.arrays import SeparabilityFilters
from reporting.separability.reading import read_alignments, selected_configurations
from reporting.separability.stability import stability_of
from tests.annotation.separability.separability_studies import FakeModel
from tests.reporting.builders import Built, build_configuration, build_study
from tests.reporting.separability.pages import body, chart_path, only, spread

pytestmark = [pytest.mark.django_db, pytest.mark.slow]


def test_stability_of_long_texts_takes_fewer_instances(reader: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    made = build_configuration(build_study(), instances=6, pairs=3)
    spread(made, [0.1, 0.2, 0.3, 0.4, 0.5, 0.6])
    texts = Generation.objects.filter(instance__study=made.study)
    texts.update(text="long word " * 10)
    monkeypatch.setattr("reporting.separability.stability.MAX_CHARACTERS", 2 * 6 * 100)
    assert "2 of 6 instances, 20 draws each." in body(reader, made.study, stability="1")
    texts.update(text="long word " * 1000)
    page = body(reader, made.study, stability="1")
    assert "the texts are too long for a page" in page
    assert reader.get(chart_path(made.study, "stability"), {}).status_code == 200


def test_stability_is_shown_for_three_generations_and_more(reader: Client) -> None:
    made = of_trees()
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
    one = read_alignments(selected_configurations(made.study, filters)[0], runs, "", None)
    on_page = stability_of(made.study, one, filters)
    assert [row["samples"] for row in on_page["samples"]] == [2, 3]
    assert stability_printed(capsys) == json.loads(json.dumps(on_page))
    (three,) = stability_printed(capsys, "--samples", "3")["samples"]
    assert three == json.loads(json.dumps(on_page["samples"][1]))
    call_command("separability_stability", "tried")
    assert re.search(r"  2\n +change: 0\.", capsys.readouterr().out)
    with pytest.raises(CommandError, match="must be 2 or more"):
        call_command("separability_stability", "tried", "--samples", "1")


def test_instances_that_share_a_source_are_one_cluster_of_the_change(capsys: Any) -> None:
    made = of_trees()
    apart = stability_printed(capsys, "--samples", "2")["samples"][0]["change"]
    made.study.instances.filter(position__lt=2).update(source="One source.")
    shared = stability_printed(capsys, "--samples", "2")["samples"][0]["change"]
    assert (apart["n_instances"], apart["low"] is None, shared["n_clusters"], shared["low"]) == (5, False, 4, None)
    assert shared["value"] == apart["value"]


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
