"""Separability in the background and through the API: asked for once, watched, taken up again, and never half-stored."""

from collections.abc import Callable
from pathlib import Path
from shutil import rmtree
from typing import Any
from unittest.mock import Mock

import pytest
from django.db import OperationalError
from django.test import Client
from django.utils.html import escape
from django_tasks_db.models import DBTaskResult

from annotation.core.errors import AnnotationError
from annotation.core.reasons import Reason
from annotation.core.tasks.processes import is_gone, this_machine, this_process
from annotation.jobs import work
from annotation.jobs.work import do_job
from annotation.models import Alignment, SeparabilityJob, SeparabilityRun, Study
from annotation.separability import measure as separability_measure
from annotation.separability import texts as separability_texts
from annotation.separability.jobs import SeparabilityRequest, separability_state, start_separability
from annotation.separability.services import compute_separability
from tests.annotation.separability.model_folders import write_model
from tests.annotation.separability.separability_studies import drawn_texts, stored, study_of
from tests.factories import make_study, make_user
from tests.fakes import dead_process, stopped_flag

pytestmark = [pytest.mark.django_db, pytest.mark.engine]
ROUGE = SeparabilityRequest("rouge1", group="0,1")


def store() -> Study:
    """Six instances of two systems."""
    return study_of(*drawn_texts(6))


def run_task() -> Any:
    """Do what the worker does with the only task."""
    task = DBTaskResult.objects.get()
    task.claim("worker")
    return do_job.func(*task.args_kwargs["args"])


# Asking


def test_the_same_is_asked_for_once_and_something_else_beside_it(study: Study) -> None:
    idle = {"busy": False, "jobs": [], "failure": "", "notice": ""}
    assert separability_state(study) == idle
    first, is_new = start_separability(study, ROUGE)
    assert separability_state(study) == {**idle, "busy": True, "jobs": [first]}
    assert separability_state(make_study("other")) == idle
    second, is_new_too = start_separability(study, ROUGE)
    assert (is_new, is_new_too, second.pk) == (True, False, first.pk)
    third, _ = start_separability(study, SeparabilityRequest("rouge1", group="0,1", samples=3))
    assert third.pk != first.pk
    assert DBTaskResult.objects.count() == SeparabilityJob.objects.count() == 2


@pytest.mark.any_engine
def test_what_can_not_be_computed_is_refused_at_once(study: Study) -> None:
    for request in (SeparabilityRequest("vibes"), SeparabilityRequest("rouge1", dataset="talk")):
        with pytest.raises(AnnotationError):
            start_separability(study, request)
    assert not DBTaskResult.objects.exists()
    assert not SeparabilityJob.objects.exists()


# Doing


def test_the_worker_does_all_that_was_asked_for_and_says_how_far_it_is(
    study: Study, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(separability_texts, "READ_AT_ONCE", 2)
    seen: list[tuple[str, int, int]] = []
    holds: list[work.Hold] = []
    made = work.Hold.__init__
    monkeypatch.setattr(work.Hold, "__init__", lambda hold, *args: holds.append(hold) or made(hold, *args))
    plain = separability_measure.AlignmentMeasure.matrices

    def watched(measure: Any, groups: Any) -> Any:
        holds[0].beat()
        job = SeparabilityJob.objects.get()
        seen.append((job.status, job.done, job.total))
        assert separability_state(study)["busy"]
        return plain(measure, groups)

    monkeypatch.setattr(separability_measure.AlignmentMeasure, "matrices", watched)
    job, _ = start_separability(study, SeparabilityRequest("rouge1", group="0,1", samples=3, seed=4))
    assert run_task() == "done"
    assert seen == [("running", 0, 6), ("running", 2, 6), ("running", 4, 6)]
    job.refresh_from_db()
    assert (job.status, job.done, job.total) == ("done", 6, 6)
    assert job.ended_at is not None
    run = SeparabilityRun.objects.get()
    assert (run.samples, run.seed, run.group) == (3, 4, "0,1")


def test_a_failure_is_told_and_the_numbers_before_it_stay(study: Study, monkeypatch: pytest.MonkeyPatch) -> None:
    compute_separability(study=study, group="0,1")
    before = stored(study)
    same = study_of({"alpha": ["a b", "a b"], "beta": ["a b", "a b"]}, slug="same")
    job, _ = start_separability(same, SeparabilityRequest("rouge1"))
    assert run_task() == "stopped"
    job.refresh_from_db()
    state = separability_state(same)
    assert (state["failure"], state["busy"], state["notice"]) == (job.message.text, False, "")
    assert (job.message.code, job.message.values["parts"]) == ("alike_in_configuration", ["news: alpha / beta"])
    assert stored(study) == before
    assert start_separability(same, SeparabilityRequest("rouge1"))[1]  # it may be asked for again


@pytest.mark.parametrize(
    ("damage", "codes"),
    [
        pytest.param(rmtree, ["fetching_is_off", "no_model"], id="gone"),
        pytest.param(lambda folder: (folder / "tokenizer.json").unlink(), ["model_incomplete"], id="incomplete"),
        pytest.param(
            lambda folder: (folder / "tokenizer.json").write_text("no"),
            ["not_compared_on", "file_unreadable"],
            id="unreadable",
        ),
    ],
)
def test_a_model_that_the_worker_can_not_use_is_told_by_code(
    study: Study, researcher: Client, settings: Any, tmp_path: Path, damage: Callable[[Path], object], codes: list[str]
) -> None:
    settings.MODEL_FOLDER = str(tmp_path)
    folder = write_model(tmp_path / "tiny")
    job, _ = start_separability(study, SeparabilityRequest("cosine", model="tiny"))
    damage(folder)
    assert run_task() == "stopped"
    job.refresh_from_db()
    assert [job.message.code, *(why.code for why in job.message.values.values() if isinstance(why, Reason))] == codes
    (row,) = researcher.get("/api/v1/studies/study/separability/").json()
    assert (row["message"], row["message_code"]) == (job.message.text, codes[0])
    assert escape(job.message.text) in researcher.get("/studies/study/").text


@pytest.mark.parametrize("told", [SystemExit(0), OperationalError()], ids=repr)
def test_a_worker_that_is_told_to_end_leaves_the_job_to_the_next(
    study: Study, monkeypatch: pytest.MonkeyPatch, told: BaseException
) -> None:
    job, _ = start_separability(study, ROUGE)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(separability_measure.AlignmentMeasure, "matrices", Mock(side_effect=told))
        with pytest.raises(type(told)):
            run_task()
    job.refresh_from_db()
    assert (job.status, job.executor) == ("queued", "")
    assert not Alignment.objects.exists()
    assert do_job.func("annotation.SeparabilityJob", job.pk) == "done"


def test_a_job_that_is_stopped_stores_no_separability(study: Study, monkeypatch: pytest.MonkeyPatch) -> None:
    job, _ = start_separability(study, ROUGE)
    monkeypatch.setattr(work, "WORKER_STOP", stopped_flag())
    with pytest.raises(SystemExit):
        run_task()
    job.refresh_from_db()
    assert job.status == "queued"
    assert not Alignment.objects.exists()


def test_processes_are_known_by_whether_they_run() -> None:
    assert not is_gone(this_process())
    assert is_gone(dead_process())
    assert not is_gone("another-machine:1:x")
    assert not is_gone("nonsense")
    assert not is_gone(f"{this_machine()}:1:x")  # may not be ours, but runs


# The page


@pytest.mark.slow
@pytest.mark.any_engine
def test_the_page_takes_all_settings_and_shows_how_far_it_is(study: Study, researcher: Client) -> None:
    sent = {"similarity": "rouge1", "group": "0, 1", "samples": "3", "cross": "4", "seed": "5"}
    assert researcher.post("/studies/study/separability/", sent).status_code == 302
    job = SeparabilityJob.objects.get()
    assert SeparabilityRequest(**job.asked) == SeparabilityRequest("rouge1", "0,1", "", 3, 4, 5)
    assert job.asked_by.username == "researcher"
    headers = {"HX-Request": "true", "HX-Target": "separability"}
    assert "waiting" in researcher.get("/studies/study/", headers=headers).text
    SeparabilityJob.objects.update(done=3, total=6)
    assert "3 of 6 matchups" in researcher.get("/studies/study/", headers=headers).text
    run_task()
    DBTaskResult.objects.all().delete()
    assert "rouge1, 3 generations, 4 cross pairs, seed 5" in researcher.get("/studies/study/").text


@pytest.mark.any_engine
@pytest.mark.parametrize(
    ("sent", "field"),
    [({"samples": "x"}, "samples"), ({"group": "planet"}, "__all__"), ({"model": "/etc"}, "__all__")],
    ids=str,
)
def test_the_page_refuses_what_can_not_be_computed(
    study: Study, researcher: Client, sent: dict[str, str], field: str
) -> None:
    answer = researcher.post("/studies/study/separability/", {"similarity": "rouge1", **sent})
    assert (answer.status_code, list(answer.context["separability_form"].errors)) == (422, [field])
    assert not SeparabilityJob.objects.exists()


# The API


@pytest.mark.slow
@pytest.mark.any_engine
def test_the_api_starts_a_computation_and_shows_it(study: Study, researcher: Client) -> None:
    address = "/api/v1/studies/study/separability/"
    asked = {"similarity": "rouge1", "group": "0,1", "samples": 3, "dataset": "news", "systems": ["beta", "alpha"]}
    answer = researcher.post(address, asked, content_type="application/json")
    assert answer.status_code == 202, answer.text
    assert answer.json()["status"] == "queued"
    assert researcher.post(address, asked, content_type="application/json").json()["id"] == answer.json()["id"]
    run_task()
    (job,) = researcher.get(address).json()
    assert (job["status"], job["done"], job["total"], job["asked"]["samples"]) == ("done", 6, 6, 3)

    (run,) = researcher.get("/api/v1/separability-runs/?study=study&similarity=rouge1").json()["results"]
    assert (run["system_a"], run["samples"], run["seed"], run["group"]) == ("alpha", 3, 0, "0,1")
    rows = researcher.get(f"/api/v1/alignments/?study=study&run={run['id']}").json()
    assert rows["count"] == 6
    kept = stored(study)["rouge1, 3 generations, seed 0", "alpha / beta", rows["results"][0]["instance_id"]]
    assert tuple(rows["results"][0][name] for name in ("self_a", "self_b", "cross", "separability")) == kept


@pytest.mark.any_engine
@pytest.mark.parametrize(
    ("sent", "status"),
    [
        ({"similarty": "rouge1"}, 422),
        ({"similarity": "rouge1", "dataset": "talk"}, 404),
        ({"similarity": "rouge1", "model": "small"}, 409),
        ({"similarity": "cosine", "model": "/etc"}, 409),
        ({"similarity": "entities", "model": "antigravity"}, 409),
    ],
    ids=str,
)
def test_the_api_refuses_what_can_not_be_computed(
    study: Study, researcher: Client, sent: dict[str, Any], status: int
) -> None:
    answer = researcher.post("/api/v1/studies/study/separability/", sent, content_type="application/json")
    assert answer.status_code == status, answer.text
    assert not SeparabilityJob.objects.exists()


@pytest.mark.any_engine
def test_the_api_shows_why_there_is_no_separability(researcher: Client, study: Study) -> None:
    other = study_of({"alpha": ["cat"], "beta": ["sun", "sea"]}, slug="other")
    compute_separability(study=other, group="0,1")
    assert researcher.get("/api/v1/alignments/?study=other").json()["count"] == 0  # not theirs to read
    researcher.force_login(make_user("ron", "researcher", study=other))
    (row,) = researcher.get("/api/v1/alignments/?study=other").json()["results"]
    assert (row["separability"], row["why_undefined"]) == (None, "system A with a single generation")
