"""Names of models as they are, with a slash and dots, through everything that shows, asks for, exports or reads them."""

from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest
from django.contrib.auth.models import User

from annotation.importing.formats.public_forms import AUTO
from annotation.models import Rating, Study
from judging.endpoints import checks
from judging.endpoints.retrying import RetryingClient
from judging.generation.engine import sample
from judging.generation.prompt_templates import find_template
from judging.generation.services import Sampling, start_generating
from judging.models import Judge, Judgment
from judging.runs.juries import add_jury
from reporting.bundle.exporting import export_bundle
from reporting.bundle.importing import import_bundle
from reporting.exports.files import LINES, export_lines, file_name
from reporting.uploads.files import import_file
from tests.factories import claim, make_annotator, make_batch, make_study, output_of, rate, signed_in
from tests.fakes import ScriptedClient
from tests.judging.builders import judge_with, make_endpoint, make_judge
from tests.judging.conftest import resolve_to_public

pytestmark = [pytest.mark.django_db, pytest.mark.slow]
SYSTEM, SAMPLED, JUDGE, JURY = "org/model-1.5", "org/model-2.5", "org/judge-1.5", "org/jury-1.5"
MODEL = "org/asked-1.5:free"
ASKED = {"system": SYSTEM, "judge": JUDGE}
STUDY = "/studies/study"
# What is asked for, and the names in the answer.
WALK = (
    (f"{STUDY}/judges/", {SYSTEM, SAMPLED, JUDGE, JURY}),
    (f"{STUDY}/findings.json", {SYSTEM, JUDGE}),
    (f"{STUDY}/leaderboard.json", {SYSTEM, JUDGE}),
    (f"{STUDY}/logic.json", {JUDGE}),
    (f"{STUDY}/reports/disagreements/", {SYSTEM, JUDGE}),
    (f"{STUDY}/generate/systems.json", {SAMPLED, MODEL}),
    (f"{STUDY}/files/", {SYSTEM, SAMPLED, JUDGE, JURY}),
    ("/endpoints/stand-in/", {MODEL, JUDGE}),
    (f"/api/v1/judges/{JUDGE}/", {JUDGE}),
    (f"/api/v1/judges/{JURY}/", {JURY, JUDGE}),
    (f"/api/v1/runs/?judge={JUDGE}", {JUDGE}),
    (f"/api/v1/judgments/?judge={JUDGE}", {JUDGE}),
    ("/api/v1/systems/", {SYSTEM, SAMPLED}),
    ("rank study --judge " + JUDGE, {SYSTEM, SAMPLED, JUDGE}),
    ("generate study --show", {SAMPLED, MODEL}),
    ("run_status study", {JUDGE, JURY}),
)


def store() -> Study:
    """Store a study with votes, a judge, a jury of it, and a system whose texts were sampled."""
    study = make_study(systems=(SYSTEM, "other"), k=1)
    endpoint = make_endpoint(model=MODEL)
    with patch.object(checks, "resolve", resolve_to_public):
        sampling = Sampling(endpoint=endpoint, template=find_template("plain"), samples=1)
        run = start_generating(study, SAMPLED, sampling)
        sample(run, make_client=lambda _: RetryingClient(ScriptedClient(then="A text.")))
        for number, name in enumerate((JUDGE, "second", "third")):
            judge_with(ScriptedClient(), study, make_judge(name=name, endpoint=endpoint, seed=number))
    add_jury(study=study, name=JURY, members=[JUDGE, "second", "third"], rule="majority")
    make_batch(study, systems=(SYSTEM, "other"), pairs=1)
    rate(claim(make_annotator(study)))
    return study


@pytest.mark.parametrize(("asked", "names"), WALK)
def test_names_with_slashes_and_dots_are_asked_for_and_shown(study: Study, asked: str, names: set[str]) -> None:
    boss = User.objects.create_superuser("boss")
    if not asked.startswith("/"):
        text = output_of(*asked.split())
    else:
        of_study = asked.startswith(STUDY) and not asked.endswith("systems.json")
        answer: Any = signed_in(boss).get(asked, ASKED if of_study else None)
        assert answer.status_code == 200
        text = b"".join(answer.streaming_content).decode() if answer.streaming else answer.text

    assert {name for name in (SYSTEM, SAMPLED, JUDGE, JURY, MODEL) if name in text} >= names


@pytest.mark.parametrize("way", [*LINES, "bundle"])
def test_names_with_slashes_and_dots_come_back(study: Study, tmp_path: Path, way: str) -> None:
    def rows(of: Study) -> list[tuple[Any, ...]]:
        judged = Judgment.objects.filter(run__study=of).values_list(
            "run__judge__name", "pair__matchup__system_a__name", "pair__matchup__system_b__name", "order", "verdict"
        )
        rated = Rating.objects.filter(display__assignment__hit__batch__study=of).values_list(
            "display__pair__matchup__system_a__name", "verdict"
        )
        return [*sorted(judged), *rated]

    stored = rows(study)
    assert {(JUDGE, SYSTEM, "other"), (JUDGE, SYSTEM, SAMPLED)} <= {row[:3] for row in stored}
    files = {}
    if way == "bundle":
        export_bundle(study, tmp_path / "bundle")
    else:
        files = {kind: "".join(export_lines(study, kind, way)).encode() for kind in ("texts", "ratings", "judgments")}
    study.judge_runs.all().delete()
    Judge.objects.all().delete()
    for kind, data in files.items():
        import_file(kind=AUTO, data=data, name=file_name(kind, way), slug="again", dataset="")
    made = Study.objects.get(slug="again") if files else import_bundle(tmp_path / "bundle", slug="again")
    assert rows(made) == stored
