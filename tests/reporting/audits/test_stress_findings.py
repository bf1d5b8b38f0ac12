"""What a stress test finds, printed and as JSON; and that its answers enter nothing else."""

import json
import re
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from django.core.management import CommandError, call_command

from analysis.bias.perturbations import AUTHORITY
from annotation.models import Generation, Hit, Study
from judging.audits.asking import ask
from judging.audits.stress import StressTest, start_stress
from judging.models import AuditAnswer, Completion, Judge, JudgeAudit
from reporting.audits.stress import NO_BEFORE, NO_VERDICTS, stress_findings
from reporting.core.reasons import TOO_FEW
from tests.factories import claim, make_annotator, make_batch, rate
from tests.fakes import StandIn
from tests.judging.audits.readers import Reader, client_of, study_of_facts
from tests.judging.builders import make_endpoint, make_judge

pytestmark = [pytest.mark.django_db, pytest.mark.slow]
CHANGES = ("position", "authority", "identical")


def authority(text: str) -> bool:
    return any(claim in text for claim in AUTHORITY)


@pytest.fixture
def study() -> Study:
    """Eight instances, of which people agree on the pairs of four and disagree on those of three; one has a single vote."""
    study = study_of_facts()
    make_batch(study, raters=2, pairs=2)
    hits = list(Hit.objects.order_by("position"))
    for number, name in enumerate(("ann", "bob")):
        rater = make_annotator(study, name)
        for _ in range(len(hits) - number):
            assignment = claim(rater)
            is_left = list(assignment.displays.order_by("position").values_list("a_is_left", flat=True))
            wants_a = not (number and hits.index(assignment.hit) % 2)
            rate(assignment, ["left" if left == wants_a else "right" for left in is_left])
    return study


@pytest.fixture
def judge() -> Judge:
    return make_judge(params={"ties": True}, endpoint=make_endpoint("https://93.184.216.34/v1"))


def found_with(reader: Reader, study: Study, judge: Judge, changes: tuple[str, ...] = CHANGES) -> dict[str, Any]:
    audit = start_stress(StressTest(study, judge, changes))
    ask(audit, make_client=client_of(reader))
    return stress_findings(audit)


def test_a_judge_that_believes_experts_is_found_and_a_fair_one_is_not(study: Study, judge: Judge) -> None:
    found = found_with(Reader(authority), study, judge)
    position, claims, identical = found["changes"]
    assert position["all"]["turned"] == position["all"]["turned"] | {
        "value": 0,
        "n": 16,
        "n_instances": 8,
        "excluded": 0,
    }
    turned, towards = claims["all"]["turned"], claims["all"]["towards"]
    assert turned["value"] == towards["value"] > 0.1
    assert 0 < turned["low"] < turned["value"] < turned["high"]
    assert (claims["all"]["away"]["value"], claims["all"]["to_tie"]["value"]) == (0, 0)
    assert identical["all"]["turned"]["value"] == 0
    assert (identical["all"]["to_tie"]["value"], identical["all"]["to_tie"]["why_code"]) == (None, NO_BEFORE.code)
    assert identical["all"]["to_tie"]["excluded"] == 0
    assert identical["sound"] == "has no preference"
    parts = [claims[part]["turned"] for part in ("people_agree", "people_disagree")]
    assert [part["n"] for part in parts] == [found["people"]["agree"], found["people"]["disagree"]]
    assert found["people"] == {"agree": 8, "disagree": 6, "fewer_than_two_votes": 2}
    assert sum(part["value"] * part["n"] for part in parts) <= turned["value"] * 16

    JudgeAudit.objects.all().delete()
    Completion.objects.all().delete()
    fair = found_with(Reader(), study, judge)
    assert [one["all"]["turned"]["value"] for one in fair["changes"]] == [0, 0, 0]


def test_a_judge_that_takes_the_first_is_found_by_position_and_identical_texts(study: Study, judge: Judge) -> None:
    position, claims, identical = found_with(Reader(first=True), study, judge)["changes"]
    assert position["all"]["towards"]["value"] == 1
    assert position["all"]["towards"]["low"] > 0.5
    assert claims["all"]["turned"]["value"] == 0
    assert (identical["all"]["towards"]["value"], identical["all"]["away"]["value"]) == (1, 0)


def test_what_has_no_verdict_or_cannot_be_changed_is_left_out_and_counted(study: Study, judge: Judge) -> None:
    Generation.objects.filter(instance__position=0, system__name="alpha").update(text=" ")
    found = found_with(Reader(unread=authority), study, judge, ("authority",))
    (claims,) = found["changes"]
    assert claims["asked"] + claims["not_made"] == 16
    assert claims["all"]["turned"] == claims["all"]["turned"] | {"value": None, "n": 0, "excluded": claims["asked"]}
    assert claims["all"]["turned"]["why_code"] == NO_VERDICTS.code
    assert found["unread"] == {"unparsed": claims["asked"], "refused": 0, "error": 0}
    begun = stress_findings(start_stress(StressTest(study, judge, ("bold",), pairs=3)))
    assert (begun["open"], begun["changes"][0]["open"], begun["changes"][0]["asked"]) == (6, 3, 0)


def test_few_instances_have_no_interval_and_without_votes_both_parts_are_empty(judge: Judge) -> None:
    found = found_with(Reader(), study_of_facts(2), judge, ("position",))
    (position,) = found["changes"]
    assert (position["all"]["turned"]["value"], position["all"]["turned"]["low"]) == (0, None)
    assert position["all"]["turned"]["why"] == TOO_FEW.with_values(of="instances", least=5).text
    assert found["people"] == {"agree": 0, "disagree": 0, "fewer_than_two_votes": 4}
    for part in ("people_agree", "people_disagree"):
        assert (position[part]["turned"]["value"], position[part]["turned"]["n"]) == (None, 0)


@pytest.fixture
def run(study: Study, settings: Any, capsys: pytest.CaptureFixture[str]) -> Iterator[Callable[..., str]]:
    settings.ENDPOINT_ALLOWLIST = ["127.0.0.1"]
    with StandIn() as server:
        make_judge(endpoint=make_endpoint(server.base_url))

        def call(*arguments: str) -> str:
            call_command("audit_judge", study.slug, "--judge", "judy", *arguments)
            return capsys.readouterr().out

        yield call


@pytest.mark.any_engine
@pytest.mark.django_db(transaction=True)
def test_the_command_prices_asks_resumes_and_shows(run: Callable[..., str]) -> None:
    part = ("--sample", "6", "--change", "position", "--change", "padding")
    with pytest.raises(CommandError, match="judge judy was not asked this yet: add --estimate, then --run"):
        run(*part)
    assert json.loads(run(*part, "--estimate", "--format", "json"))["calls"] == 18
    assert not JudgeAudit.objects.exists()
    text = run(*part, "--run")
    assert re.search(r"  position\n(?:.+\n)*? +turned: 1\.000", text)  # the stand-in takes the first
    assert re.search(r"  padding\n(?:.+\n)*? +turned: 0\.000", text)
    found = json.loads(run(*part, "--format", "json"))
    assert [one["change"] for one in found["changes"]] == ["position", "padding"]
    assert found["calls"] == AuditAnswer.objects.count() == 18
    with pytest.raises(CommandError, match="the cost can't be capped"):
        run(*part, "--run", "--max-cost", "1")


def test_instances_of_one_cluster_are_one(study: Study, judge: Judge) -> None:
    alone = found_with(Reader(authority), study, judge)
    assert alone["clusters"] is None
    study.instances.update(metadata={"cluster": "x"})
    audit = JudgeAudit.objects.get(study=study)
    clustered = stress_findings(audit)
    turned = clustered["changes"][0]["all"]["turned"]
    assert (clustered["clusters"], turned["n_clusters"], turned["low"]) == (1, 1, None)
    assert turned["n_instances"] == alone["changes"][0]["all"]["turned"]["n_instances"] == 8
