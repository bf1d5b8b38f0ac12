"""A bundle states what the pages of its study show, and makes the same study."""

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
from reporting.bundle.exporting import export_bundle
from reporting.bundle.numbers import PAGES, filters_of_numbers
from reporting.disagreements.choosing import asked_of, chosen, read_table, sizes
from reporting.disagreements.views import KINDS, rows_of
from reporting.exports.rows import rating_rows
from reporting.findings.computing import findings_under
from reporting.table_effect.reading import table_effect
from tests.reporting.builders import findings
from tests.reporting.bundle.test_importing import shown, without
from tests.reporting.bundle.test_verifying import stated

pytestmark = [pytest.mark.django_db, pytest.mark.slow]


@pytest.fixture(scope="module")
def bundle(small: Study, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("bundles") / "small"
    export_bundle(small, folder)
    return folder


def without_withdrawn(found: dict[str, Any]) -> dict[str, Any]:
    for one in found["configurations"]:
        one["raters"][0]["exclusions"]["withdrawn"] = 0
    return found


def test_the_numbers_are_those_of_the_findings_page(small: Study, bundle: Path) -> None:
    numbers = stated(bundle)
    others, *_ = (numbers.pop(name) for name in ("others", *PAGES))
    shown = json.loads(json.dumps(findings(small)))
    assert any(one["raters"][0]["exclusions"]["withdrawn"] for one in shown["configurations"])
    assert numbers == without_withdrawn(shown)
    assert [(one["filters"]["stage"], one["filters"]["question"]) for one in others] == [
        ("revised", "overall"),
        ("first", "fluency"),
    ]
    revised = findings_under(small, filters_of_numbers(small.questions[0], revised=True))
    assert others[0] == without_withdrawn(json.loads(json.dumps(revised)))


def test_disagreements_are_those_that_the_page_lists(small: Study, bundle: Path) -> None:
    numbers = stated(bundle)["disagreements"]
    listed = [
        {
            "instance": instance,
            "pair": one["pair"][at],
            "bin": (place := one["bin"][at]) and tuple(one["edges"][place - 1 : place + 1]),
            "votes": [column[at] for column in one["votes"].values()],
            "sizes": [(KINDS[kind], sizes[at]) for kind, sizes in one["sizes"].items() if sizes[at]],
            "judges": {name: said[at] for name, said in one["judges"].items() if said[at] is not None},
        }
        for one in numbers["configurations"]
        for at, instance in enumerate(one["instance"])
    ]

    asked = asked_of(small, QueryDict())
    table = read_table(small, asked.filters)
    apart = sizes(table, asked)
    rows = chosen(table, asked, apart).tolist()
    shown = [
        {
            "instance": row["opened"].pair.matchup.instance.instance_id,
            "pair": row["opened"].pair.index,
            "bin": row["separability"],
            "votes": row["votes"],
            "sizes": row["sizes"],
            "judges": {f"judge:{name}": said for name, said in row["judges"].items() if not isnan(said)},
        }
        for row in rows_of(small, asked, table, apart, rows)
    ]
    assert sorted(listed, key=lambda one: -round(max(size for _, size in one["sizes"]), 9)) == shown
    assert (numbers["count"], len({kind for row in shown for kind, _size in row["sizes"]})) == (len(shown), 3)
    assert len({len(row["judges"]) for row in shown}) > 1


def test_the_study_is_the_same_beside_itself(
    small: Study, bundle: Path, capsys: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    task = task_of(small.task_kind)
    AspectSet.objects.create(
        group=small.group, task=task, version=1, aspects=["Clarity"]
    )  # since the bundle was written
    call_command("import_bundle", str(bundle), "--study", "copy")
    assert "study copy was created" in capsys.readouterr().out
    copy = Study.objects.get(slug="copy")

    assert shown(copy) == shown(small)
    effects = [table_effect(one) for one in (copy, small)]
    assert [one["excluded"].pop("withdrawn") > 0 for one in effects] == [False, True]
    assert {**effects[0], "study": small.slug} == effects[1]
    assert without(rating_rows(copy), "study") == without(rating_rows(small), "study")
    named = ("study", "id", "run", "pair")
    assert without(judgment_rows(copy), *named) == without(judgment_rows(small), *named)
    assert shown_with_results(copy) == shown_with_results(small) != []
    assert copy.questions == small.questions
    assert copy.consent_version == small.consent_version
    assert copy.judge_runs.count() == small.judge_runs.count()
    assert set(copy.judge_runs.values_list("judge")) == set(small.judge_runs.values_list("judge"))
    assert not set(Hit.objects.filter(batch__study=copy).values_list("key")) & set(
        Hit.objects.filter(batch__study=small).values_list("key")
    )
    assert copy.annotators.filter(code="gone").count() == 0
    repeat = Assignment.objects.filter(hit__batch__study=copy, purpose="repeat").first()
    assert repeat is not None
    assert repeat.repeat_of is not None
    assert repeat.repeat_of.hit.batch.study == copy
    assert JudgeRun.objects.filter(study=small, status="queued").exists()  # runs at work are stopped in the copy
    assert set(copy.judge_runs.values_list("status", flat=True)) == {"done", "paused"}
    assert Judgment.objects.filter(run__study=copy, status="pending").exists()
