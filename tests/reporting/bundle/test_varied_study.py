"""A bundle of a study with something of everything states what its pages show, and makes the same study."""

import json
from math import isnan
from pathlib import Path
from typing import Any

import pytest
from django.core.management import call_command
from django.http import QueryDict

from annotation.models import Assignment, Hit, Study
from annotation.studies.log import shown_with_results
from judging.methods.task_files import task_of
from judging.models import AspectSet, JudgeRun, Judgment
from judging.outcomes.judgment_rows import judgment_rows
from reporting.bundle.numbers import PAGES, filters_of_numbers
from reporting.disagreements.choosing import asked_of, chosen, sizes
from reporting.disagreements.reading import read_table
from reporting.disagreements.views import KINDS, rows_of
from reporting.exports.rows import rating_rows
from reporting.findings.study_findings import findings, findings_under
from reporting.table_effect.reading import table_effect
from tests.reporting.bundle.test_importing import shown, without
from tests.reporting.bundle.test_verifying import stated

pytestmark = [pytest.mark.django_db, pytest.mark.slow]


def without_withdrawn(found: dict[str, Any]) -> dict[str, Any]:
    for one in found["configurations"]:
        one["raters"][0]["exclusions"]["withdrawn"] = 0
    return found


def test_the_numbers_are_those_of_the_findings_page(varied: Study, bundle: Path) -> None:
    numbers = stated(bundle)
    others, *_ = (numbers.pop(name) for name in ("others", *PAGES))
    shown = json.loads(json.dumps(findings(varied)))
    assert any(one["raters"][0]["exclusions"]["withdrawn"] for one in shown["configurations"])
    assert numbers == without_withdrawn(shown)
    assert [(one["filters"]["stage"], one["filters"]["question"]) for one in others] == [
        ("revised", "overall"),
        ("first", "fluency"),
    ]
    revised = findings_under(varied, filters_of_numbers(varied.questions[0], revised=True))
    assert others[0] == without_withdrawn(json.loads(json.dumps(revised)))


def test_disagreements_are_those_that_the_page_lists(varied: Study, bundle: Path) -> None:
    numbers = stated(bundle)["disagreements"]
    listed = [
        {
            "dataset": one["dataset"],
            "systems": [one["system_a"], one["system_b"]],
            "instance": instance,
            "pair": one["pair"][at],
            "bin": (place := one["bin"][at]) and tuple(one["edges"][place - 1 : place + 1]),
            "votes": [column[at] for column in one["votes"].values()],
            "kinds": [KINDS[kind] for kind, sizes in one["sizes"].items() if sizes[at]],
            "size": max(sizes[at] for sizes in one["sizes"].values()),
            "judges": {name: said[at] for name, said in one["judges"].items() if said[at] is not None},
        }
        for one in numbers["configurations"]
        for at, instance in enumerate(one["instance"])
    ]

    asked = asked_of(varied, QueryDict())
    table = read_table(varied, asked.filters)
    apart = sizes(table, asked)
    rows = chosen(table, asked, apart).tolist()
    shown = [
        {
            "dataset": (matchup := row["opened"].pair.matchup).instance.dataset,
            "systems": [matchup.system_a.name, matchup.system_b.name],
            "instance": matchup.instance.instance_id,
            "pair": row["opened"].pair.index,
            "bin": row["separability"],
            "votes": row["votes"],
            "kinds": row["kinds"],
            "size": row["size"],
            "judges": {f"judge:{name}": said for name, said in row["judges"].items() if not isnan(said)},
        }
        for row in rows_of(varied, asked, table, apart, rows)
    ]
    assert sorted(listed, key=lambda one: -round(one["size"], 9)) == shown
    assert (numbers["count"], len({kind for row in shown for kind in row["kinds"]})) == (len(shown), 3)
    assert len({len(row["judges"]) for row in shown}) > 3


@pytest.mark.weekly
@pytest.mark.engine
@pytest.mark.any_engine  # that rows of every kind come back is tried where another server reads them
def test_the_study_is_the_same_beside_itself(
    varied: Study, bundle: Path, capsys: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    task = task_of(varied.task_kind)
    AspectSet.objects.create(
        group=varied.group, task=task, version=1, aspects=["Clarity"]
    )  # since the bundle was written
    call_command("import_bundle", str(bundle), "--study", "copy")
    assert "study copy has been made" in capsys.readouterr().out
    copy = Study.objects.get(slug="copy")

    assert shown(copy) == shown(varied)
    effects = [table_effect(one) for one in (copy, varied)]
    assert [one["excluded"].pop("withdrawn") > 0 for one in effects] == [False, True]
    assert {**effects[0], "study": varied.slug} == effects[1]
    assert without(rating_rows(copy), "study") == without(rating_rows(varied), "study")
    named = ("study", "id", "run", "pair")
    assert without(judgment_rows(copy), *named) == without(judgment_rows(varied), *named)
    assert shown_with_results(copy) == shown_with_results(varied) != []
    assert copy.questions == varied.questions
    assert copy.consent_version == varied.consent_version
    assert copy.judge_runs.count() == varied.judge_runs.count()
    assert set(copy.judge_runs.values_list("judge")) == set(varied.judge_runs.values_list("judge"))
    assert not set(Hit.objects.filter(batch__study=copy).values_list("key")) & set(
        Hit.objects.filter(batch__study=varied).values_list("key")
    )
    assert copy.annotators.filter(code="gone").count() == 0
    repeat = Assignment.objects.filter(hit__batch__study=copy, purpose="repeat").first()
    assert repeat is not None
    assert repeat.repeat_of is not None
    assert repeat.repeat_of.hit.batch.study == copy
    assert JudgeRun.objects.filter(study=varied, status="queued").exists()  # runs at work are stopped in the copy
    assert set(copy.judge_runs.values_list("status", flat=True)) == {"done", "paused"}
    assert Judgment.objects.filter(run__study=copy, status="pending").exists()
