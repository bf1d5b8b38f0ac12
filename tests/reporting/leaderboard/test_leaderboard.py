"""The leaderboard: ranks with ranges from the findings that are kept, by data set, what settles the next place, and to whom."""

import csv
import io
from collections.abc import Iterator
from itertools import combinations
from typing import Any

import numpy as np
import pytest
from django.test import Client

from reporting.findings import computing, snapshots
from reporting.leaderboard.views import ranks_by_rater
from tests.factories import make_user, signed_in
from tests.reporting.builders import build_configuration, build_study, judge, rate

pytestmark = [pytest.mark.django_db, pytest.mark.slow]
HOSTILE = "<script>alert(1)</script>"
STRENGTHS = {"ant": 1.5, HOSTILE: 0.2, "cat": -0.3}
ADDRESS, BOARD = "/studies/tried/leaderboard", "/studies/board/leaderboard"


@pytest.fixture(scope="module")
def board(module_rows: None) -> None:
    """Thirty instances of each of two data sets with a vote on each pair of three systems, by Bradley and Terry's model."""
    study, rng = build_study("board"), np.random.default_rng(2)
    for dataset in ("news", "chats"):
        for a, b in combinations(STRENGTHS, 2):
            built = build_configuration(
                study, instances=30, pairs=1, dataset=dataset, systems=(a, b), prefix=f"{dataset}-{len(a)}{len(b)}"
            )
            p = 1 / (1 + np.exp(STRENGTHS[b] - STRENGTHS[a]))
            for place in range(30):
                rate(built, place, "ann", [-1 if rng.random() < p else 1])
    judge(built, "direct", [(place, 0, "ab", -1) for place in range(30)])


@pytest.fixture
def client(db: None) -> Iterator[Client]:
    return signed_in(make_user("reader", "researcher"))


@pytest.fixture
def computed(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """The filters under which findings were computed."""
    asked: list[Any] = []
    read = computing.read_study
    monkeypatch.setattr(computing, "read_study", lambda study, filters: asked.append(filters) or read(study, filters))
    return asked


@pytest.mark.usefixtures("board")
def test_page_files_and_api_show_the_kept_rankings(client: Client, computed: list[Any]) -> None:
    findings = client.get("/studies/board/findings.json").json()
    page = client.get(f"{BOARD}/").content.decode()
    found = client.get(f"{BOARD}.json").json()
    rows = list(csv.DictReader(io.StringIO(client.get(f"{BOARD}.csv").content.decode())))

    # Once for everything, and once for each data set: page, files and findings share them.
    assert [one.datasets for one in computed] == [None, ("chats",), ("news",)]
    assert client.get("/api/v1/studies/board/leaderboard/").json() == found
    people, of_judge = found["raters"]
    assert (people["kind"], of_judge["rater"]) == ("person", "judge:direct")
    kept = {one["measure"]: one for one in findings["rankings"] if one["rater"] == "people"}
    for system in people["systems"]:
        for measure in ("bradley_terry", "elo", "sep_elo", "sep_bradley_terry", "win_rate"):
            [row] = [row for row in kept[measure]["systems"] if row["system"] == system["system"]]
            assert system[measure] == {name: row.get(name) for name in system[measure]}
    assert people["settled"] == 1
    assert people["next_place"] == kept["bradley_terry"]["next_place"]
    assert (people["next_place"]["place"], people["next_place"]["system"]) == (2, HOSTILE)
    assert people["next_place"]["more"] > 0

    assert HOSTILE not in page
    for text in ("Place 2 is the next to be settled", "3\u00a0(2\u2060–\u20603)", "Ranks by data set", "dataset=news"):
        assert text in page
    assert len(rows) == 3 * (1 + 2) * 5 + 3 * 1 * 5 + 3 * 5  # people: three slices; the judge: all and one data set
    assert {row["dataset"] for row in rows} == {"", "news", "chats"}
    assert [row["rank"] for row in rows if row["measure"] == "bradley_terry"][:3] == ["1", "2", "3"]


@pytest.mark.usefixtures("board")
def test_a_data_set_alone_is_shown_as_the_part_that_it_is(client: Client, computed: list[Any]) -> None:
    page = client.get(f"{BOARD}/?dataset=news").content.decode()
    found = client.get(f"{BOARD}.json?dataset=news").json()

    assert [one.datasets for one in computed] == [("news",)]
    assert "Data sets: news" in page
    assert "Ranks by data set" not in page
    assert (found["filters"]["datasets"], found["datasets"]) == (["news"], [])
    assert found["raters"][0]["systems"][0]["bradley_terry"]["n"] == 60


@pytest.mark.usefixtures("board")
def test_large_study_waits_for_the_worker(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(snapshots, "SMALL", 1)

    assert client.get(f"{BOARD}.csv").status_code == 503
    assert client.get("/api/v1/studies/board/leaderboard/").status_code == 503


def test_ranks_of_raters_stand_side_by_side_with_the_change() -> None:
    def rater(name: str, *order: str) -> dict[str, Any]:
        systems = [{"system": system, "win_rate": {"rank": at}} for at, system in enumerate(order, start=1)]
        return {"rater": name, "measure": "win_rate", "systems": systems}

    people = rater("people", "ant", "bee", "cat")
    table = ranks_by_rater([people, rater("judge:fair", "cat", "ant", "bee")])
    assert table is not None
    cells = {heads[0]: (first, other, moved.value) for heads, (first, other, moved) in table.rows}
    assert cells == {"ant": (1, 2, "−1"), "bee": (2, 3, "−1"), "cat": (3, 1, "+2")}
    assert ranks_by_rater([people]) is None


def test_cycle_is_said(client: Client) -> None:
    study = build_study()
    for a, b in (("bee", "ant"), ("cat", "bee"), ("ant", "cat")):
        built = build_configuration(study, instances=2, pairs=1, systems=(a, b), prefix=a)
        for place in range(2):
            rate(built, place, "ann", [-1])
    found = client.get(f"{ADDRESS}.json").json()["raters"][0]

    assert (
        client.get("/studies/tried/findings/").text.count(f'href="{ADDRESS}/"') == 2
    )  # of two systems only at the end
    assert found["cycles"] == [["ant", "bee", "cat"]]
    assert found["settled"] == 0
    assert found["next_place"]["more"] is None


def test_groups_that_never_met_have_no_next_place(client: Client) -> None:
    study = build_study()
    for a, b in (("ant", "bee"), ("cat", "dog")):
        rate(build_configuration(study, instances=1, pairs=1, systems=(a, b), prefix=a), 0, "ann", [-1])
    found = client.get(f"{ADDRESS}.json").json()["raters"][0]

    assert (found["settled"], found["next_place"]["place"]) == (None, None)
