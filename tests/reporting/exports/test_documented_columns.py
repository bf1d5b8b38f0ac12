"""A new study made of a study's exported files has the same findings, to the last digit; the documentation names every column."""

import json
import re
from pathlib import Path
from typing import Any

import pytest
from django.core.management import call_command

from annotation.importing.formats.long_form import ANSWER_COLUMNS, PLACE, RATING_COLUMNS
from annotation.models import Display, Generation, Study
from annotation.separability.services import compute_separability
from judging.models import Judge, JudgeRun
from reporting.exports.files import KINDS, READ_BACK
from tests.reporting.builders import build_configuration, build_study, findings, judge, rate

WORDS = ["river", "stone", "cloud", "amber", "valley", "thunder", "maple"]
SIDES = (True, False, None)
DATA = Path(__file__).parents[3] / "docs" / "data.md"
pytestmark = [pytest.mark.django_db, pytest.mark.slow]


@pytest.fixture(scope="module")
def study(module_rows: None) -> Study:
    """Two configurations that people and a judge rated, with separability by several measures and on several scales."""
    made = build_study("source")
    first = build_configuration(made, instances=6, pairs=3)
    other = build_configuration(made, instances=4, pairs=3, dataset="talk", systems=("first-system", "third"))
    for one in Generation.objects.filter(instance__study=made).order_by("pk"):
        place = one.instance.position * 3 + one.index + len(one.system.name)
        one.text = " ".join(WORDS[place * step % 7] for step in range(1, 4 + place % 4))
        one.save()
    for built in (first, other):
        for place, pairs in enumerate(built.pairs):
            for rater, code in enumerate(("ann", "bob", "cem")):
                verdicts = [(place + rater + k) % 3 - 1 for k in range(len(pairs))]
                rate(built, place, code, verdicts, a_is_left=[SIDES[(rater + k) % 3] for k in range(len(pairs))])
            judge(built, "plain", [(place, k, ("ab", "ba")[k % 2], (place + k) % 3 - 1) for k in range(len(pairs))])
    measure(made)
    return made


def measure(study: Study) -> None:
    for similarity, more in (("bleu", {}), ("rouge1", {}), ("rouge1", {"samples": 2, "seed": 3})):
        compute_separability(study=study, similarity=similarity, **more)
    compute_separability(study=study, similarity="bleu", group="0,50")  # findings use the latest measure


@pytest.fixture(scope="module")
def before(study: Study) -> list[dict[str, Any]]:
    return [numbers(study), numbers(study, similarity="rouge1")]


def numbers(study: Study, **filters: Any) -> dict[str, Any]:
    found = json.loads(json.dumps(findings(study, rounds=20, **filters)))
    return {name: value for name, value in found.items() if name != "study"}


@pytest.mark.parametrize("form", ["csv", "parquet"])
def test_a_new_study_of_the_exported_files_has_the_same_findings(
    study: Study, before: list[dict[str, Any]], form: str, tmp_path: Path
) -> None:
    call_command("export_study", study.slug, "--format", form, "--out", str(tmp_path))
    JudgeRun.objects.all().delete()  # another server doesn't have these judges
    Judge.objects.all().delete()

    for kind, command in READ_BACK.items():
        if kind != "tables":  # there are none
            call_command(command, str(tmp_path / f"{kind}.{form}"), "--study", "copy")

    copy = Study.objects.get(slug="copy")
    measure(copy)
    assert Display.objects.filter(assignment__hit__batch__study=copy, a_is_left=None).count() == 30
    assert before[0]["configurations"][0]["separability"]["normalisation"]["max"] == 50
    assert [numbers(copy), numbers(copy, similarity="rouge1")] == before


@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind != "ratings"])
def test_the_documentation_names_every_column_in_its_order(kind: str) -> None:
    line = next(line for line in DATA.read_text().splitlines() if line.startswith(f"| `{kind}` |"))
    named = [word.strip() for part in re.findall("`([^`]*)`", line.partition(" | ")[2]) for word in part.split(",")]
    of_every_row = {"judgments": RATING_COLUMNS, "history": PLACE, "flags": PLACE}.get(kind, ())
    columns = [column for column in KINDS[kind][1](Study()) if column not in of_every_row]
    assert [word for word in named if word in columns][-len(columns) :] == columns


def test_the_documentation_names_every_column_of_ratings() -> None:
    section = DATA.read_text().partition("## Ratings, long form")[2].partition("\n## ")[0]
    named = {word.strip() for part in re.findall("`([^`]*)`", section) for word in part.split(",")}
    assert {*RATING_COLUMNS, *ANSWER_COLUMNS} - named == {
        "study",
        "rater_kind",
    }  # which the text before the table names
