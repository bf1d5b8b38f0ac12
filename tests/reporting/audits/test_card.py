"""The card of a judge: every part of what is known, and the reason where nothing is."""

import json
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from django.test import Client

from annotation.models import Study
from judging.audits.asking import ask
from judging.audits.drift import conclude, start_check
from judging.audits.stress import StressTest, start_stress
from judging.models import Judge
from judging.runs.juries import add_jury
from reporting.audits.card import NO_CALLS, NO_DRIFT, NO_RUN, NO_STRESS, ONE_CHECK, PARTS, judge_card
from reporting.audits.card_page import card_sections, settings_rows
from reporting.findings.study_findings import findings
from tests.factories import claim, make_annotator, make_batch, rate
from tests.judging.audits.readers import Reader, client_of, study_of_facts
from tests.judging.builders import judge_with, make_endpoint, make_judge
from tests.reporting.builders import build_user

pytestmark = [pytest.mark.django_db, pytest.mark.slow]
HOSTILE = "<script>alert(1)</script>"


@pytest.fixture(scope="module")
def study_id(module_rows: None, django_db_blocker: Any) -> int:
    with django_db_blocker.unblock():
        return rated_study().pk


@pytest.fixture
def study(study_id: int) -> Study:
    return Study.objects.get(pk=study_id)


def rated_study() -> Study:
    study = study_of_facts(6)
    study.systems.filter(name="alpha").update(family="heron")
    study.instances.update(gold={"better": "alpha"})
    make_batch(study, raters=2, pairs=2)
    for name in ("ann", "bob"):
        rater = make_annotator(study, name)
        for _ in range(6):
            rate(claim(rater))
    return study


def priced_judge(name: str) -> Judge:
    endpoint = make_endpoint("https://93.184.216.34/v1", name=name, price_prompt=1000, price_completion=1000)
    return make_judge(name=name, params={"ties": True}, endpoint=endpoint, order="both", family="heron")


@pytest.fixture
def judge() -> Judge:
    """A judge that was asked nothing."""
    return priced_judge("nina")


def test_a_judge_of_which_nothing_is_known_says_so_everywhere(study: Study, judge: Judge) -> None:
    card = judge_card(study, judge, findings(study))
    assert {name: card[name].get("why") for name in PARTS} == {
        "accuracy": "no pair with a gold label was judged yet",
        "agreement": NO_RUN,
        "consistency": NO_RUN,
        "length": NO_RUN,
        "family": NO_RUN,
        "logic": "the judge was not asked what shows whether it contradicts itself",
        "stress": NO_STRESS,
        "cost": None,
        "drift": NO_DRIFT,
    }
    assert card["cost"] | {"cost": 0, "verdicts": 0, "per_verdict": None, "audit_cost": 0} == card["cost"]
    assert judge_card(study, judge, None)["agreement"]["why"] == "the findings are being computed"


@pytest.fixture(scope="module")
def known_id(study_id: int, django_db_blocker: Any) -> int:
    with django_db_blocker.unblock():
        return judge_of_everything(Study.objects.get(pk=study_id)).pk


@pytest.fixture
def known(known_id: int) -> Judge:
    """A judge of which everything is known."""
    return Judge.objects.get(pk=known_id)


def judge_of_everything(study: Study) -> Judge:
    judge = priced_judge("judy")
    judge_with(Reader(), study, judge)
    ask(start_stress(StressTest(study, judge, ("position", "bold"))), make_client=client_of(Reader(first=True)))
    for _ in range(2):
        check = start_check(StressTest(study, judge))
        ask(check, make_client=client_of(Reader()))
        conclude(check)
    return judge


def test_of_one_pair_an_instance_no_consistency_is_told(study: Study, known: Judge) -> None:
    numbers = findings(study)
    for one in numbers["configurations"]:
        one["pairs"] = one["instances"]
    (told,) = judge_card(study, known, numbers)["consistency"]["configurations"]
    assert list(told["estimates"]) == list(told["people"]) == ["mean_preference_strength", "preferred_first"]


def test_what_is_known_is_on_the_page_in_json_and_in_a_page_that_stands_alone(
    study: Study, known: Judge, client: Client
) -> None:
    client.force_login(build_user("reader", "researcher"), backend="django.contrib.auth.backends.ModelBackend")
    Study.objects.update(title=HOSTILE)
    card = json.loads(client.get("/studies/facts/judges/judy/card.json").content)
    assert not [name for name in PARTS if "why" in card[name]]
    assert card["settings"]["model"] == "small"
    assert card["accuracy"]["estimates"]["accuracy"]["n"] == 12
    assert card["agreement"]["estimates"]["agreement"]["n"] == 24
    assert card["agreement"]["estimates"]["non_inferiority"] is not None
    assert card["consistency"]["configurations"][0]["estimates"]["mean_consistency"]["n"] == 6
    assert card["family"]["estimates"]["with_judge"]["value"] == 0.5
    assert card["logic"]["estimates"]["commutativity"]["value"] == 1
    assert card["drift"]["drifted"] is False
    assert card["cost"]["verdicts"] == 24
    assert card["cost"]["audit_calls"] > 12
    assert card["cost"]["per_verdict"] * 24 == pytest.approx(card["cost"]["cost"])

    page: Any = client.get("/studies/facts/judges/judy/card/").content.decode()
    alone = client.get("/studies/facts/judges/judy/card.html").content.decode()
    for text in (page, alone):
        assert "<code>" not in text.partition('id="card-settings"')[2].partition("</table>")[0]
        assert HOSTILE not in text
        assert "Not known" not in text
        assert "No change is shown." in text
        assert "Texts change places" in text
        assert all(f'id="card-{name}"' in text for name in PARTS)
    assert "data:image/svg+xml;base64," in alone
    assert not [mark for mark in ("<script", "<link", "http://", "https://", 'href="') if mark in alone]
    assert client.get("/studies/facts/judges/nobody/card/").status_code == 404


def test_settings_are_said_in_words_and_what_a_jury_does_not_have_is_left_out(study: Study, known: Judge) -> None:
    known.params = {"ties": True, "examples": [{"source": "s"}], "max_tokens": 50}
    known.tuned = {"from": "june"}
    card = judge_card(study, known, None)
    said = dict(settings_rows(card))
    assert len(said) == len(card["settings"])
    assert said["Order of the texts"] == "Both orders; disagreement is a tie"
    assert said["Negated question"] == "no"
    assert said["Parameters"] == "ties=true, examples=1, max_tokens=50"
    assert said["System prompt"] == "none"
    assert said["Tuned from judge"] == "june"
    make_judge(name="june", endpoint=known.endpoint)
    judge_with(Reader(), study, Judge.objects.get(name="june"))
    jury = add_jury(study=study, name="both", members=["judy", "june"], rule="majority").judge
    rows = dict(settings_rows(judge_card(study, jury, None)))
    assert judge_card(study, jury, None)["cost"] == {"why": NO_CALLS}
    [cost] = [one for one in card_sections(judge_card(study, jury, None)) if one["name"] == "cost"]
    assert (cost["why"], cost["tables"], "facts" in cost) == (NO_CALLS, [], False)
    assert rows == {"Method": "jury", "Family": "none", "Parameters": 'members=["judy", "june"], rule=majority'}


def test_the_command_prints_the_card_and_writes_the_page(
    study: Study, judge: Judge, tmp_path: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    check = start_check(StressTest(study, judge))
    ask(check, make_client=client_of(Reader()))
    call_command("judge_card", "facts", "--judge", "nina")
    text = capsys.readouterr().out
    assert f"Drift: not known: {ONE_CHECK}" in text
    assert f"Stress test: not known: {NO_STRESS}" in text
    assert "  Order of the texts: Both orders; disagreement is a tie\n" in text
    assert "  Verdicts: 0\n" in text
    call_command("judge_card", "facts", "--judge", "nina", "--format", "json")
    assert json.loads(capsys.readouterr().out)["judge"] == "nina"
    out = tmp_path / "card.html"
    call_command("judge_card", "facts", "--judge", "nina", "--out", str(out))
    assert out.read_text().lstrip().startswith("<!DOCTYPE html>")
    with pytest.raises(CommandError, match="is there already"):
        call_command("judge_card", "facts", "--judge", "nina", "--out", str(out))
