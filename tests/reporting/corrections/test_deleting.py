"""A study is deleted with all that belongs to it, and nothing else."""

from pathlib import Path
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.utils import timezone

from annotation.core.errors import AnnotationError
from annotation.importing.staging import Target, is_abandoned, settle_abandoned
from annotation.models import Annotator, AuditEntry, Study
from annotation.rating.votes import save_vote
from judging.models import Completion
from reporting.corrections import deleting
from reporting.corrections.deleting import delete_study
from reporting.downloads.jobs import path_of
from reporting.models import MadeFile
from tests.factories import claim, make_annotator, make_batch, make_study
from tests.reporting.corrections.doors import correct, each_door
from tests.reporting.corrections.test_taking_back import rows
from tests.whole_study import build_whole_study

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.engine, pytest.mark.slow]

SHARED = {"Endpoint", "Judge", "PromptFile", "AspectSet", "ResearchGroup", "TextVector"}


def without_shared(tables: dict[str, Any]) -> dict[str, Any]:
    return {name: keys for name, keys in tables.items() if name not in SHARED}


@pytest.fixture
def erasure_log(tmp_path: Path, settings: Any) -> Path:
    settings.ERASURE_LOG = tmp_path / "erasures.jsonl"
    return tmp_path / "erasures.jsonl"


@each_door
def test_all_of_a_study_goes_and_nothing_of_another(door: str, erasure_log: Path) -> None:
    other = make_study("other")
    make_batch(other)
    shared = Completion.objects.create(base_url="x", request={}, cache_key="s" * 64)
    before = without_shared(rows())
    whole = build_whole_study("whole")
    study = whole.study
    study.channels.update(is_open=False)
    judgment = whole.run.judgments.earliest("pk")
    judgment.completions.add(Completion.objects.create(base_url="x", request={"texts": "own"}, cache_key="o" * 64))
    repeat = {"purpose": "repeat", "repeat_of": whole.first_hit, "attempt": 2, "state": "submitted"}
    whole.first_hit.hit.assignments.create(annotator=whole.annotator, **repeat)
    file = MadeFile.objects.create(study=study, kind="bundle", status="done")
    path_of(file).parent.mkdir(exist_ok=True, parents=True)
    path_of(file).write_bytes(b"zip")
    raters = study.annotators.count()

    outlook = correct(door, study, "delete-study", {"confirm": study.slug}, preview=True)
    assert not outlook.made
    assert {"4 instances", "2 batches", "1 exported file"} <= set(outlook.effects)
    assert correct(door, study, "delete-study", {"confirm": study.slug}).made

    left = without_shared(rows())
    assert left == before
    assert not path_of(file).exists()
    assert Completion.objects.get() == shared
    assert len(erasure_log.read_text().splitlines()) == raters
    [entry] = [
        change for row in AuditEntry.objects.all() for change in row.changes if change.get("kind") == "study-deleted"
    ]
    assert (entry["slug"], entry["changes"]["instances"]) == ("whole-study", 4)
    make_study("whole-study")


@each_door
def test_another_name_deletes_nothing(door: str) -> None:
    study = make_study()

    assert correct(door, study, "delete-study", {"confirm": "Study"}).text
    assert not correct(door, study, "delete-study", {}).made
    assert Study.objects.filter(slug="study").exists()


@pytest.mark.parametrize(
    ("active", "part"),
    [
        (lambda study: study.uploads.create(kind="study", names=["f"], size=1, status="queued"), "import"),
        (lambda study: study.made_files.create(kind="bundle", status="queued"), "job"),
        (lambda study: study.channels.create(kind="prolific", name="P", is_open=True), "Channel P is open"),
    ],
)
def test_work_under_way_is_ended_first(active: Any, part: str) -> None:
    study = make_study()
    active(study)

    with pytest.raises(AnnotationError, match=part):
        delete_study(study=study)
    assert Study.objects.get().slug == "study"


def test_a_large_study_is_hidden_at_once_and_deleted_by_the_worker(
    monkeypatch: pytest.MonkeyPatch, erasure_log: Path
) -> None:
    monkeypatch.setattr(deleting, "WHOLE", -1)
    study = make_study()
    make_batch(study)
    hit = claim(make_annotator(study))
    display = hit.displays.select_related("pair").earliest("pk")

    assert correct("page", study, "delete-study", {"confirm": "study"}).made

    assert not Study.objects.exists()
    with pytest.raises(AnnotationError):  # the rater at work is told
        save_vote(assignment=hit, pair_key=display.pair.key, choice="left", at=timezone.now())
    make_study("study", instances=0)
    settle_abandoned()
    assert Study._base_manager.count() == 1
    assert not Annotator.objects.exists()


def test_no_thread_of_the_same_process_deletes_a_study_too(monkeypatch: pytest.MonkeyPatch, erasure_log: Path) -> None:
    study = make_study()
    abandoned: list[bool] = []

    def remove_nothing(target: Target) -> None:
        abandoned.append(is_abandoned(target.staged))
        raise OSError(28, "no space")

    monkeypatch.setattr(deleting, "remove", remove_nothing)
    with pytest.raises(OSError, match="no space"):
        delete_study(study=study)

    assert abandoned == [False]
    settle_abandoned()  # which goes on at once
    assert not Study._base_manager.exists()


def test_accounts_of_its_raters_go_unless_they_are_used(erasure_log: Path) -> None:
    study, other = make_study(), make_study("other")
    make_annotator(study, "only-here")
    make_annotator(study, "both")
    make_annotator(other, "both")

    delete_study(study=study)

    assert list(User.objects.values_list("username", flat=True)) == ["both"]
