"""The pages of an audit: what they show, of whom, to whom, and the run that they start."""

import csv
import io
import json
import re
from itertools import combinations
from typing import Any

import pytest
from django.core.management import call_command
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from annotation.models import Generation, Study, System
from judging.models import Judge, JudgeRun, Judgment, PromptFile
from reporting.core import charts
from reporting.logic import audits, views
from tests.reporting.builders import Built, rate
from tests.reporting.logic.test_audit import in_order, let_judge
from tests.reporting.refinement.test_repair import SYSTEMS, build_four_systems

pytestmark = [pytest.mark.django_db, pytest.mark.slow]
ADDRESS = "/studies/tried/logic/"
HOSTILE = "<script>alert(1)</script>"
Audited = tuple[Study, dict[tuple[str, str], Built]]


@pytest.fixture(autouse=True)
def _nothing_kept() -> None:
    audits._kept.clear()


@pytest.fixture
def audited() -> Audited:
    """Six instances: a judge whose one contradiction is a cycle on each, and people who are of its opinion on one pair."""
    study, built = build_four_systems(instances=6)
    let_judge(study, built, in_order() | {("one", "three"): "three"}, negated=in_order(), repeats=2)
    for place in range(6):
        rate(built["one", "two"], place, "ann", [-1])
    return study, built


def text_of(client: Client, address: str = ADDRESS, status: int = 200) -> str:
    response: Any = client.get(address)
    assert response.status_code == status, response.content.decode()[:500]
    return " ".join(response.content.decode().split())


def test_the_page_has_every_rater_with_its_measures(audited: Audited, reader: Client) -> None:
    study, _ = audited
    page = text_of(reader)
    assert f'href="/studies/{study.slug}/logic.csv"' in page
    judge = page.split("<bdi>fair</bdi>")[1]
    cells = [cell.split("</td>")[0] for cell in judge.split("<td data-label=")[1:6]]
    # With people's majority, on one pair; of six pairs' presentations, those of one and three are named by both questions.
    assert [re.findall(r"\d+\.\d%", cell)[0] for cell in cells] == ["100.0%", "100.0%", "83.3%", "100.0%", "50.0%"]
    assert "n = 72 presentations; 6 instances" in cells[2]
    assert "Not measured: Transitivity s_tran(5)" in page  # no column of dashes
    assert "rater=judge%3Afair&amp;kind=cycles" in judge
    assert ">6 cycles</a>" in judge


def test_files_and_pictures_have_the_same_numbers(audited: Audited, reader: Client) -> None:
    found = json.loads(reader.get("/studies/tried/logic.json").content)
    assert [one["rater"] for one in found["raters"]] == ["people", "judge:fair"]
    assert found["raters"][1]["transitivity"]["3"]["value"] == 0.75
    rows = list(csv.DictReader(io.StringIO(reader.get("/studies/tried/logic.csv").content.decode())))
    (row,) = [r for r in rows if (r["rater"], r["dataset"], r["measure"]) == ("judge:fair", "", "transitivity_3")]
    assert (float(row["value"]), row["n_instances"]) == (0.75, "6")
    assert (row["kind"], row["method"], row["wording"]) == (
        "judge",
        Judge.objects.get().method,
        Judge.objects.get().task,
    )
    alone = list(csv.DictReader(io.StringIO(reader.get("/studies/tried/logic-by-instance.csv").content.decode())))
    assert len(alone) == 2 * 6 * 12  # raters, instances, measures
    here = {r["measure"]: r for r in alone if (r["rater"], r["instance_id"]) == ("judge:fair", "i3")}
    assert (here["transitivity_3"]["value"], here["negation_invariance"]["n"]) == ("0.75", "12")
    assert float(here["negation_invariance"]["value"]) == pytest.approx(5 / 6)
    assert (here["transitivity_5"]["value"], here["transitivity_5"]["n"]) == ("", "0")
    assert here["transitivity_5"]["why"]
    assert (here["transitivity_3"]["n"], here["transitivity_3"]["of"], here["density"]["value"]) == (
        *("4", "complete sets"),
        "1.0",
    )
    drawn = list(csv.DictReader(io.StringIO(reader.get(f"{ADDRESS}transitivity.csv").content.decode())))
    assert {(r["series"], r["k"], r["y"]) for r in drawn} == {("fair", "3", "0.75")}  # six sets of four are too few
    assert all(float(r["low"]) <= float(r["y"]) <= float(r["high"]) for r in drawn)
    svg = reader.get(f"{ADDRESS}commutativity.svg?theme=dark")
    assert svg["Content-Type"] == "image/svg+xml"
    page = text_of(reader, ADDRESS)
    assert page.count("Not drawn") == 1
    for address in (f"{ADDRESS}other.svg", f"{ADDRESS}transitivity.svg?theme=pink", f"{ADDRESS}?question=none"):
        assert reader.get(address).status_code == 404, address


def test_contradictions_are_listed_with_texts_and_rationales(
    audited: Audited, reader: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    study, built = audited
    System.objects.filter(study=study, name="two").update(name=HOSTILE)
    Generation.objects.filter(system__name=HOSTILE).update(text=f"text {HOSTILE}")
    Judgment.objects.for_question(0).filter(order="ab", pair=built["one", "two"].pairs[0][0]).update(rationale=HOSTILE)
    page = text_of(reader, f"{ADDRESS}contradictions/?rater=judge:fair&kind=cycles")
    assert "6 cycles: each text" in page
    first = page.split('<details class="disagreement">')[1]
    assert '<strong dir="auto">i0</strong>' in first
    assert "text &lt;script&gt;" in first
    assert "<bdi>one</bdi> first: <bdi>one</bdi> is preferred" in first
    assert "<bdi>one</bdi> first: <bdi>three</bdi> is preferred" in first
    assert HOSTILE not in page
    assert "0 pairs whose verdict changes" in text_of(
        reader, f"{ADDRESS}contradictions/?rater=judge:fair&kind=order_effects"
    )
    assert "0 cycles" in text_of(reader, f"{ADDRESS}contradictions/?rater=people")

    def queries(a_page: int) -> int:
        monkeypatch.setattr(views, "A_PAGE", a_page)
        with CaptureQueriesContext(connection) as found:
            page = text_of(reader, f"{ADDRESS}contradictions/?rater=judge:fair&page=2")
        assert page.count('<details class="disagreement">') == a_page
        return len(found)

    assert queries(1) == queries(3)
    for wrong in ("rater=judge:none", "rater=judge:fair&kind=other"):
        text_of(reader, f"{ADDRESS}contradictions/?{wrong}", status=404)


def test_new_answers_are_there_at_once(audited: Audited, reader: Client) -> None:
    assert ">6 cycles</a>" in text_of(reader)
    Judgment.objects.for_question(0).filter(pair__matchup__instance__instance_id="i0").delete()
    assert ">5 cycles</a>" in text_of(reader)


def test_wordings_of_one_judge_stand_together_with_their_spread(
    audited: Audited, reader: Client, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    study, built = audited
    first = Judge.objects.get()
    for n, answer in enumerate(("tie", "first"), start=1):
        wording = PromptFile.objects.create(name=f"w{n}", text="$criterion", parser="verdict-line")
        judge = Judge.objects.create(
            name=f"other-{n}", method=first.method, order="both", params=first.params, prompt_file=wording
        )
        run = JudgeRun.objects.create(study=study, judge=judge, status="done")
        answers = in_order() if answer == "tie" else dict.fromkeys(combinations(SYSTEMS, 2), answer)
        Judgment.objects.bulk_create(
            Judgment(
                run=run,
                pair=pair,
                order=order,
                status="parsed",
                verdict=(-1 if order == "ab" else 1) if said == "first" else -1,
            )
            for pair_of, said in answers.items()
            for row in built[pair_of].pairs
            for pair in row
            for order in ("ab", "ba")
        )
    chosen = Judge.objects.create(name="fair-rank", method=first.method, order="both", params=first.params, task="chat")
    run = JudgeRun.objects.create(
        study=study, judge=chosen, status="done", pair_filter={"on_demand": True}, filter_key="x"
    )
    Judgment.objects.create(run=run, pair=built["one", "two"].pairs[0][0], order="ab", status="parsed", verdict=1)
    found = json.loads(reader.get("/studies/tried/logic.json").content)
    (one,) = found["wordings"]  # one that a ranking asked on pairs that it chose is none of them
    assert sorted(one["raters"]) == ["judge:fair", "judge:other-1", "judge:other-2"]
    assert one["commutativity"] == {
        "n": 3,
        "value": pytest.approx(2 / 3),
        "low": 0,
        "high": 1,
        "sd": pytest.approx(3**-0.5),
    }
    assert one["rank_correlation"] == {"n": 3, "value": pytest.approx(1)}  # H is 1, 1 and 1/2
    assert one["negation_invariance"]["why_code"] == "few_wordings"
    drawn = csv.DictReader(io.StringIO(reader.get(f"{ADDRESS}commutativity.csv").content.decode()))
    assert {row["rater"] for row in drawn} == {"fair", "other-1", "other-2"}
    monkeypatch.setattr(charts, "MAX_SERIES", 1)  # others that are before it by name give way to one with wordings
    Judge.objects.create(name="a-lone-one", method="coin", order="both")
    call_command("run_judge", study.slug, "--judge", "a-lone-one")
    drawn = csv.DictReader(io.StringIO(reader.get(f"{ADDRESS}commutativity.csv").content.decode()))
    assert {row["rater"] for row in drawn} == {"fair", "other-1", "other-2"}
    call_command("logic_audit", study.slug)
    assert f"  method: {first.method}\n" in capsys.readouterr().out
    page = text_of(reader)
    assert "0.0% to 100.0%, sd 57.7 points" in page


def test_the_form_prices_an_audit_and_starts_it(audited: Audited, reader: Client) -> None:
    Judge.objects.create(name="guess", method="coin", seed=3)
    sent = {"judge": "guess", "repeats": "2", "negated": "on", "instances": "3", "seed": "1", "in_flight": "4"}
    priced: Any = reader.post(f"{ADDRESS}estimate/", sent)
    assert priced.status_code == 200
    assert "144 presentations to judge" in " ".join(priced.content.decode().split())
    part: Any = reader.post(f"{ADDRESS}estimate/", sent, headers={"HX-Request": "true"})
    assert "<html" not in part.content.decode()
    assert JudgeRun.objects.count() == 1
    started: Any = reader.post(f"{ADDRESS}start/", sent)
    run = JudgeRun.objects.get(judge__name="guess-audit2")
    assert started.url == f"/studies/tried/judges/runs/{run.pk}/"
    assert (run.judgments.count(), run.in_flight, run.status) == (144, 4, "queued")
    assert "all pairs of the study, on HITs or not; of these only 3 instances" in text_of(reader, started.url)
    for wrong in ({"judge": "nobody"}, {"judge": "guess", "instances": "0"}, {"judge": "guess", "dataset": "none"}):
        for action in ("estimate", "start"):
            assert reader.post(f"{ADDRESS}{action}/", {**sent, **wrong}).status_code == 422
    assert JudgeRun.objects.count() == 2
