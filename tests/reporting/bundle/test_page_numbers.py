"""What the pages on separability, ranks and disagreements show when they are opened follows from a bundle's rows."""

import json
from itertools import combinations
from pathlib import Path
from random import Random
from typing import Any

import pytest
from django.http import QueryDict

from annotation.models import Batch, Study
from judging.models import Endpoint, GenerationRun
from reporting.bundle.exporting import export_bundle
from reporting.bundle.importing import import_bundle
from reporting.bundle.layout import Contents
from reporting.separability.study_separability import distinguishable
from reporting.separability.views import filters_of
from tests.factories import signed_in
from tests.reporting.builders import build_batch, build_configuration, build_study, build_user, judge, rate, separate
from tests.reporting.bundle.test_verifying import stated

pytestmark = [pytest.mark.django_db, pytest.mark.slow]


def shown(study: Study) -> dict[str, Any]:
    """Return the page's JSON when it is opened."""
    found: dict[str, Any] = json.loads(json.dumps(distinguishable(study, filters_of(study, QueryDict()))))
    return found


@pytest.fixture(scope="module")
def ranked(module_rows: None, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The bundle of three systems on two data sets."""
    study, draw = build_study("ranked"), Random(4)
    for dataset in ("talk", "news"):
        for systems in combinations(("ant", "bee", "cat"), 2):
            one = build_configuration(
                study, instances=6, pairs=1, dataset=dataset, systems=systems, prefix=f"{dataset}-{systems}"
            )
            raw = [(0.9, 0.8, draw.random()) for _ in one.matchups]
            separate(one, raw, [0.9 - cross for *_, cross in raw])
            for place in range(len(one.matchups)):
                rate(one, place, "ann", [draw.choice([-1, -1, 0, 1])])
    judge(one, "direct", [(place, 0, "ab", -1) for place in range(6)])
    folder = tmp_path_factory.mktemp("bundles") / "ranked"
    export_bundle(study, folder)
    return folder


def test_ranks_are_those_of_the_leaderboard(ranked: Path) -> None:
    numbers = stated(ranked)["leaderboard"]
    assert [(one["dataset"], len(one["raters"])) for one in numbers["datasets"]] == [("news", 2), ("talk", 1)]
    scaled = [one["raters"][0]["systems"][0]["sep_elo"] for one in (numbers, *numbers["datasets"])]
    assert [one["n"] for one in scaled] == [24, 12, 12]
    client = signed_in(build_user("reader", "researcher"))
    assert numbers == client.get("/studies/ranked/leaderboard.json").json()


@pytest.fixture
def heated() -> Study:
    """A study of systems sampled at two temperatures, with two measures, and an instance that is a gold check only."""
    endpoint = Endpoint.objects.create(name="local", base_url="http://localhost/v1", model="small")
    study = build_study("heated")
    for number, heat in enumerate(("0.8", "0.2")):
        systems = (f"small-{heat}", f"large-{heat}")
        one = build_configuration(study, instances=5, pairs=2, systems=systems, prefix=f"x{heat}")
        for similarity in ("bertscore", "rouge1"):
            settings = {"model": "m", "model_fingerprint": f"abcdefgh{number}"} if similarity == "bertscore" else {}
            raw = [(0.9, None if place == 1 else 0.8, place / (7 + number)) for place in range(5)]
            values = [None if own is None else 0.9 - cross for _, own, cross in raw]
            separate(one, raw, values, similarity=similarity, **settings)
        for place in range(4):
            rate(one, place, "ann", [-1, (-1) ** place])
        one.hits[4].delete()
        checks = (study, one.dataset, one.system_a, one.system_b, one.matchups[4:], one.pairs[4:])
        gold = build_batch(*checks, name=f"gold-{heat}")
        Batch.objects.filter(pk=gold.batch.pk).update(purpose="gold")
        for name in systems:
            settings = {"model": name.split("-")[0], "temperature": float(heat), "samples": 2, "seed": number}
            GenerationRun.objects.create(study=study, endpoint=endpoint, name=name, **settings)
    return study


@pytest.mark.weekly
def test_temperatures_and_all_configurations_together_come_back(heated: Study, tmp_path: Path) -> None:
    export_bundle(heated, tmp_path / "bundle")
    export_bundle(heated, tmp_path / "bare", Contents(texts=False, reasons=False))

    numbers = stated(tmp_path / "bundle")["distinguishable"]
    assert numbers == stated(tmp_path / "bare")["distinguishable"] == shown(heated)
    assert [one["matchups"] for one in numbers["configurations"]] == [4, 4]
    assert numbers["similarities"] == ["bertscore (m, abcdefgh0)", "bertscore (m, abcdefgh1)", "rouge1"]
    assert [row["temperatures"] for row in numbers["temperatures"][0]["rows"]] == [[0.2, 0.2], [0.8, 0.8]]
    assert numbers["pooled_advice"]["similarity"] == "rouge1"
    assert numbers["pooled_advice"]["raters"][0]["rating_sets"] == 2 * (4 - 1)  # one has no separability
    assert numbers == {**shown(import_bundle(tmp_path / "bundle", slug="again")), "study": "heated"}
