"""`manage.py findings` as programs and people read it."""

import json

import pytest
from django.core.management import CommandError, call_command

from annotation.core.version import VERSION
from annotation.models import Study
from reporting.findings.computing import compute_findings
from reporting.findings.data.inputs import Filters, StudyData
from reporting.findings.study_findings import findings
from reporting.findings.text import as_text
from tests.reporting.builders import build_configuration, build_study, judge, rate, separate
from tests.reporting.findings.arrays import configuration_data

pytestmark = pytest.mark.django_db


@pytest.fixture
def slug(db: None) -> str:
    """A study with people, a judge and separability."""
    built = build_configuration(build_study("shown"), instances=2, pairs=2, systems=("left\x1b[31m", "right"))
    separate(built, [(0.5, 0.6, 0.1), (0.5, 0.5, 0.4)], [0.9, 0.1])
    rate(built, 0, "ann", [-1, 1])
    judge(built, "direct", [(0, 0, "ab", -1)])
    return "shown"


@pytest.mark.slow
def test_json_is_all_that_is_printed(slug: str, capsys: pytest.CaptureFixture[str]) -> None:
    call_command("findings", slug, "--format", "json", "--seed", "7", "--batch", "news-batch", "--with-incomplete")
    found = json.loads(capsys.readouterr().out)
    older = ["study", "version", "filters", "configurations", "pooled", "rankings", "amendments"]
    assert [key for key in found if key in older] == older
    assert {"win_matrices", "system_tests"} < set(found)
    assert (found["study"], found["version"]) == ("shown", VERSION)
    assert found["filters"]["seed"] == 7
    assert found["filters"]["batches"] == ["news-batch"]
    assert found["filters"]["with_incomplete"] is True


@pytest.mark.slow
def test_epsilon_is_a_number_from_0_to_1(slug: str, capsys: pytest.CaptureFixture[str]) -> None:
    call_command("findings", slug, "--format", "json", "--epsilon", "0.2")
    assert json.loads(capsys.readouterr().out)["replacement"][0]["epsilon"] == 0.2
    call_command("findings", slug)
    assert "may a judge replace people?\n  direct: Cannot be told" in capsys.readouterr().out
    for wrong in ("much", "-0.1", "1.5", "nan"):
        with pytest.raises(CommandError, match="epsilon is a number from 0 to 1"):
            call_command("findings", slug, f"--epsilon={wrong}")


def test_text_holds_numbers_and_no_control_characters(slug: str, capsys: pytest.CaptureFixture[str]) -> None:
    call_command("findings", slug)
    said = capsys.readouterr().out
    assert "judge:direct" in said
    assert "mean consistency          0.000, n = 1 rating set, 1 instance (" in said
    assert "people: 1 rater, 1 rating set in use (0 incomplete), " in said
    assert "\x1b" not in said


@pytest.fixture(scope="module")
def of_three() -> str:
    """Three systems that beat each other in a circle on six instances each; two judges, one of a system's family."""
    votes = [
        (i, p, who, verdict) for i in range(6) for p in range(2) for who, verdict in (("r1", -1.0), ("r2", i % 3 - 1.0))
    ]
    judges = {"direct": [(i, p, -1.0) for i, p, who, _ in votes if who == "r1"], "other": [(0, 0, 1.0)]}
    found = compute_findings(
        StudyData(
            "tried",
            tuple(
                configuration_data(
                    votes, judges, instances=6, systems=systems, families={"one\x1b": "gpt", "direct": "gpt"}
                )
                for systems in (("one\x1b", "two"), ("two", "three"), ("three", "one\x1b"))
            ),
            None,
            frozenset(),
            {},
            [],
        ),
        Filters(),
    )
    return as_text(found)


def test_text_has_what_the_page_has_of_systems_and_judges(of_three: str) -> None:
    parts = {one.splitlines()[0]: one for one in of_three.split("\n\n")}
    # r1 is for the first of each pair, 12 times; r2 is for it 4 times, against it 4 times, and for neither 4 times.
    rankings = parts["rankings"]
    assert "    one�: three 0.250 (n = 24), two 0.750 (n = 24)" in rankings
    assert "people: no order fits all majorities among" in rankings
    systems = parts["tests between systems, over instances; n is of verdicts on the two systems"]
    assert "  people, difference of Bradley-Terry ratings\n    one� less three: 0" in systems
    lengths = parts["win rates of A as they are, and at equal lengths"]
    assert "    news: A = one�, B = two: 0.750 [" in lengths
    assert "; at equal lengths 0.749, n = 24 verdicts, 6 instances (no interval: fewer than 20 instances)" in lengths
    judges = parts["tests between judges of their agreement with people, paired by rating"]
    assert "\n  direct less other: 1.000, n = 6 ratings" in judges
    own = parts["do judges prefer their own model's family?"]
    assert "  direct: wins of systems of the family gpt\n    with the judge  0.500" in own
    assert "  other: cannot be told (the family of the judge's model is not given)" in own


def test_text_has_no_consistency_of_one_pair_an_instance(slug: str) -> None:
    found = findings(Study.objects.get(slug=slug), rounds=1)
    assert "mean consistency          0." in as_text(found)
    single = {**found, "configurations": [{**one, "pairs": one["instances"]} for one in found["configurations"]]}
    assert "mean consistency          0." not in as_text(single)
    assert "mean consistency          — (one pair an instance)" in as_text(single)


def test_text_begins_with_the_answer_and_holds_no_control_characters(of_three: str) -> None:
    assert of_three.index("\n- ") < of_three.index("\nrankings") < of_three.index("\nnews: A = one�, B = two")
    assert "\x1b" not in of_three


def test_text_of_an_empty_study_says_what_to_do(capsys: pytest.CaptureFixture[str]) -> None:
    build_study("bare")
    call_command("findings", "bare")
    assert "import instances" in capsys.readouterr().out


@pytest.mark.parametrize("wrong", [["--batch", "nope"], ["--seed", "-1"]])
def test_wrong_options_are_refused(slug: str, wrong: list[str]) -> None:
    with pytest.raises(CommandError):
        call_command("findings", slug, *wrong)
