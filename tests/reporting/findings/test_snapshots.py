"""Findings that are kept: computed once for the same data, by a request or a worker, and never shown after an erasure."""

import json
import re
from collections.abc import Callable
from copy import deepcopy
from datetime import timedelta
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.utils import timezone
from django_tasks.base import TaskResultStatus
from django_tasks_db.models import DBTaskResult

from annotation.annotators.consent import withdraw
from annotation.models import Annotator, Study
from annotation.privacy.erasing import erase_rater
from judging.runs.tasks import execute_run
from reporting.core import data_version
from reporting.core.data_version import version_of
from reporting.findings import computing, page, snapshots
from reporting.findings.computing import compute_findings
from reporting.findings.data.asked import query_of
from reporting.findings.data.inputs import Filters, StudyData
from reporting.findings.data.reading import read_study
from reporting.findings.snapshots import renew_snapshot, snapshot_of
from reporting.models import FindingsSnapshot
from tests.factories import make_user, signed_in
from tests.reporting.builders import Built, build_configuration, build_study, judge, rate, separate

pytestmark = [pytest.mark.django_db, pytest.mark.slow]
FILTERS = Filters()
PAGE = "/studies/kept/findings/"


def store() -> tuple[Built, User]:
    built = build_configuration(build_study("kept"), instances=2, pairs=2)
    separate(built, [(0.5, 0.6, 0.1), (0.5, 0.5, 0.4)], [0.9, 0.1])
    rate(built, 0, "ann", [-1, 0])
    rate(built, 1, "bob", [1, 1], kind="imported")
    judge(built, "direct", [(0, 0, "ab", -1), (0, 1, "ab", "unparsed")])
    return built, make_user("reader", "researcher", study=built.study)


@pytest.fixture
def built(stored: tuple[Built, User]) -> Built:
    return deepcopy(stored[0])


@pytest.fixture
def reader(stored: tuple[Built, User]) -> Client:
    return signed_in(stored[1])


@pytest.fixture
def large(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every study with a rating is large."""
    monkeypatch.setattr(snapshots, "SMALL", 0)


@pytest.fixture
def computed(monkeypatch: pytest.MonkeyPatch) -> list[Filters]:
    """The filters of every computation, in their order."""
    seen: list[Filters] = []

    def compute(data: StudyData, filters: Filters) -> dict[str, Any]:
        seen.append(filters)
        return compute_findings(data, filters)

    monkeypatch.setattr(computing, "compute_findings", compute)
    return seen


def expected_of(built: Built) -> dict[str, Any]:
    """The findings, computed apart from those that are counted."""
    return compute_findings(read_study(built.study, FILTERS), FILTERS)


def body(response: Any) -> str:
    return str(response.content.decode())


def ratings(study: Study) -> int:
    """The number of ratings in the findings that are shown."""
    numbers = snapshot_of(study, FILTERS).numbers
    assert numbers is not None
    return sum(one["raters"][0]["ratings"] for one in numbers["configurations"])


def queued() -> list[str]:
    return [str(one.status) for one in DBTaskResult.objects.filter(task_path=renew_snapshot.module_path)]


def work(study: Study, filters: Filters = FILTERS) -> bool:
    """Do what is queued, as a worker does."""
    DBTaskResult.objects.filter(status=TaskResultStatus.READY).update(status=TaskResultStatus.SUCCESSFUL)
    return bool(renew_snapshot.func(study.pk, query_of(filters)))


def outdated() -> None:
    """Let the time pass after which the data are looked at again."""
    FindingsSnapshot.objects.update(checked_at=timezone.now() - snapshots.RENEW_AFTER - timedelta(seconds=1))


def test_a_small_study_is_computed_once_for_page_pictures_files_and_api(
    built: Built, reader: Client, computed: list[Filters], monkeypatch: pytest.MonkeyPatch
) -> None:
    files = ("findings.json", "charts/preferences.svg", "charts/pooled-consistency.csv")
    for path in (PAGE, *(f"/studies/kept/{name}" for name in files), "/api/v1/studies/kept/findings/"):
        assert reader.get(path).status_code == 200, path
    assert len(computed) == 1
    assert not queued()
    page = body(reader.get(PAGE))
    assert "As of <time" in page
    assert "hx-trigger" not in page
    assert json.loads(body(reader.get("/studies/kept/findings.json"))) == expected_of(built)
    assert reader.get("/api/v1/studies/kept/findings/").content == reader.get("/studies/kept/findings.json").content
    monkeypatch.setattr(data_version, "VERSION", "a later one")
    assert "As of <time" in body(reader.get(PAGE))
    assert len(computed) == 2
    rate(built, 0, "cem", [1, None])
    assert ratings(built.study) == 5
    assert len(computed) == 3


def test_filters_have_snapshots_of_their_own_of_which_the_newest_are_kept(
    built: Built, computed: list[Filters], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(snapshots, "MOST_KEPT", 2)
    every = [FILTERS, Filters(two_way=True), Filters(with_incomplete=True)]
    for filters in every:
        assert snapshot_of(built.study, filters).numbers["filters"] == filters.as_json()  # type: ignore[index]
    kept = FindingsSnapshot.objects.order_by("read_at").values_list("query", flat=True)
    assert list(kept) == ["two_way=1", "with_incomplete=1"]
    snapshot_of(built.study, every[2])
    assert computed == every


@pytest.mark.usefixtures("large")
def test_a_large_study_is_computed_by_the_worker_alone(built: Built, reader: Client, computed: list[Filters]) -> None:
    waiting = body(reader.get(PAGE))
    assert "A worker is computing these findings" in waiting
    assert 'hx-get="?shown="' in waiting
    for path in (
        "/studies/kept/findings.json",
        "/studies/kept/charts/preferences.svg",
        "/api/v1/studies/kept/findings/",
    ):
        response = reader.get(path)
        assert (response.status_code, response["Retry-After"]) == (503, "10")
    assert queued() == ["READY"]
    news = reader.get(PAGE, {"shown": ""}, HTTP_HX_REQUEST="true")
    assert "HX-Refresh" not in news
    assert not computed
    assert work(built.study)
    assert reader.get(PAGE, {"shown": ""}, HTTP_HX_REQUEST="true")["HX-Refresh"] == "true"
    assert "As of <time" in body(reader.get(PAGE))
    assert reader.get("/api/v1/studies/kept/findings/").json() == expected_of(built)
    assert "Last-Modified" in reader.get("/studies/kept/findings.json")
    assert len(computed) == 1


@pytest.mark.usefixtures("large")
def test_estimates_are_shown_until_their_intervals_are_computed(
    built: Built, reader: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    third = build_configuration(built.study, instances=2, pairs=2, systems=("one", "three"), prefix="more")
    rate(third, 0, "ann", [1, 1])
    separate(third, [(0.5, 0.6, 0.2), (0.5, 0.5, 0.3)], [0.8, 0.2])
    snapshot_of(built.study, FILTERS)
    with monkeypatch.context() as patch:
        patch.setattr(computing, "compute_findings", _killed)
        with pytest.raises(SystemExit):
            work(built.study)
    first = snapshot_of(built.study, FILTERS)
    assert first.is_first_pass
    page = body(reader.get(PAGE))
    assert re.findall(r'id="(rankings|raters|judges)"', page) == ["rankings"]
    assert "hx-get" not in body(reader.get(PAGE, {"shown": ""}, HTTP_HX_REQUEST="true"))
    for name in ("charts/preferences.svg", "charts/judges-against-people.svg", "charts/win-matrix.csv"):
        assert reader.get(f"/studies/kept/{name}").status_code == 200, name
    assert "it is being computed" in body(reader.get("/studies/kept/charts/judges-against-people.svg"))
    assert "is being computed" in body(reader.get("/studies/kept/leaderboard/"))
    assert not any(board["settled"] for board in reader.get("/studies/kept/leaderboard.json").json()["raters"])
    found = reader.get("/api/v1/studies/kept/findings/").json()
    assert found["being_computed"]
    assert [one["rule"] for one in found["answer"]] == ["being_computed"]
    outdated()
    assert snapshot_of(built.study, FILTERS).pending
    assert work(built.study)
    assert "Newer findings have been computed." in body(
        reader.get(PAGE, {"shown": first.version}, HTTP_HX_REQUEST="true")
    )
    assert not snapshot_of(built.study, FILTERS).is_first_pass
    assert 'id="raters"' in body(reader.get(PAGE))


@pytest.mark.usefixtures("large")
def test_findings_that_are_shown_are_not_replaced_by_estimates(built: Built, monkeypatch: pytest.MonkeyPatch) -> None:
    snapshot_of(built.study, FILTERS)
    work(built.study)
    rate(built, 0, "cem", [1, 1])
    monkeypatch.setattr(computing, "compute_estimates", _killed)
    assert work(built.study)
    assert ratings(built.study) == 6


@pytest.mark.usefixtures("large")
def test_computing_that_takes_longer_than_ten_seconds_is_queued_once_and_after_a_judges_run(
    built: Built, reader: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    started = timezone.now() - 3 * snapshots.RENEW_AFTER
    readers = [FILTERS, Filters(two_way=True)]
    for filters in readers:
        snapshot_of(built.study, filters)
        work(built.study, filters)
    outdated()
    for filters in readers:
        snapshot_of(built.study, filters)
    DBTaskResult.objects.filter(status=TaskResultStatus.READY).update(
        status=TaskResultStatus.RUNNING, started_at=started
    )
    execute_run.enqueue(0, "")
    for number in range(3):
        rate(built, 0, f"rater {number}", [1, 1])
        for filters in readers:
            assert snapshot_of(built.study, filters).pending
    assert sorted(queued()) == ["RUNNING", "RUNNING"]
    DBTaskResult.objects.filter(task_path=renew_snapshot.module_path).update(status=TaskResultStatus.SUCCESSFUL)
    for filters in readers:  # the next renewals queue up behind the run
        snapshot_of(built.study, filters)
    assert DBTaskResult.objects.ready().first().task_path == execute_run.module_path
    DBTaskResult.objects.all().delete()
    for filters in readers:
        renew_snapshot.func(built.study.pk, query_of(filters))
        assert not snapshot_of(built.study, filters).pending  # ten seconds count from the end of computing
    assert not queued()


@pytest.mark.usefixtures("large")
def test_a_large_study_is_looked_at_again_after_ten_seconds(
    built: Built, reader: Client, computed: list[Filters]
) -> None:
    snapshot_of(built.study, FILTERS)
    work(built.study)
    outdated()
    assert snapshot_of(built.study, FILTERS).pending
    assert not work(built.study)  # the same data are not computed again
    assert not snapshot_of(built.study, FILTERS).pending
    assert len(computed) == 1
    rate(built, 0, "cem", [1, 1])
    assert ratings(built.study) == 4
    assert "READY" not in queued()
    outdated()
    old = snapshot_of(built.study, FILTERS)
    assert old.pending
    assert old.read_at is not None
    page = body(reader.get(PAGE))
    assert "being checked for new data" in page
    assert queued().count("READY") == 1
    assert work(built.study)
    assert ratings(built.study) == 6
    news = body(reader.get(PAGE, {"shown": old.read_at.isoformat()}, HTTP_HX_REQUEST="true"))
    assert "Newer findings have been computed." in news
    assert "hx-get" not in news


@pytest.mark.usefixtures("large")
@pytest.mark.engine
def test_a_failed_or_killed_worker_leaves_the_last_findings_and_is_followed_by_another(
    built: Built, reader: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    snapshot_of(built.study, FILTERS)
    work(built.study)
    rate(built, 0, "cem", [1, 1])
    outdated()
    snapshot_of(built.study, FILTERS)
    with monkeypatch.context() as patch:
        patch.setattr(computing, "compute_findings", _killed)
        with pytest.raises(SystemExit):
            renew_snapshot.func(built.study.pk, "")
    assert ratings(built.study) == 4
    now = timezone.now()
    DBTaskResult.objects.update(status=TaskResultStatus.FAILED, finished_at=now)
    assert "The last attempt failed" in body(reader.get(PAGE))
    assert queued() == ["FAILED"]
    DBTaskResult.objects.update(finished_at=now - snapshots.RETRY_AFTER)
    assert "The last attempt failed" not in body(reader.get(PAGE))
    assert queued() == ["READY"]
    DBTaskResult.objects.update(status=TaskResultStatus.RUNNING, started_at=now)
    reader.get(PAGE)
    assert queued() == ["RUNNING"]
    DBTaskResult.objects.update(started_at=now - snapshots.DEAD_AFTER)
    reader.get(PAGE)
    assert queued() == ["READY"]


def _killed(*_: Any) -> dict[str, Any]:
    raise SystemExit


def test_a_rating_that_comes_while_findings_are_computed_makes_them_outdated(
    built: Built, monkeypatch: pytest.MonkeyPatch
) -> None:
    def compute(data: StudyData, filters: Filters) -> dict[str, Any]:
        found = compute_findings(data, filters)
        rate(built, 0, "late", [1, 1])
        return found

    with monkeypatch.context() as patch:
        patch.setattr(computing, "compute_findings", compute)
        assert ratings(built.study) == 4
    assert ratings(built.study) == 6


def test_of_two_workers_the_one_that_read_later_is_kept(built: Built) -> None:
    version, now = version_of(built.study), timezone.now()
    later = snapshots._compute(built.study, "", FILTERS, version, now)
    rate(built, 0, "cem", [1, 1])
    earlier = snapshots._compute(built.study, "", FILTERS, "older", now - timedelta(seconds=1))
    assert earlier.pk == later.pk
    assert FindingsSnapshot.objects.get().version == version


@pytest.mark.usefixtures("large")
@pytest.mark.parametrize("end", [withdraw, lambda **what: erase_rater(by=None, **what)], ids=["withdrawn", "erased"])
def test_findings_with_a_rater_who_left_are_not_shown(built: Built, end: Callable[..., object]) -> None:
    snapshot_of(built.study, FILTERS)
    work(built.study)
    assert "bob" in json.dumps(snapshot_of(built.study, FILTERS).numbers)
    end(annotator=Annotator.objects.get(code="bob"), at=timezone.now())
    assert snapshot_of(built.study, FILTERS).numbers is None
    assert not FindingsSnapshot.objects.exists()
    work(built.study)
    assert "bob" not in json.dumps(snapshot_of(built.study, FILTERS).numbers)


def test_a_task_whose_study_or_batch_is_gone_does_nothing(built: Built, monkeypatch: pytest.MonkeyPatch) -> None:
    assert not renew_snapshot.func(built.study.pk, "batch=gone")
    assert not renew_snapshot.func(0, "")

    def compute(data: StudyData, filters: Filters) -> dict[str, Any]:
        monkeypatch.setattr(Study.objects, "select_for_update", lambda **_: Study.objects.none())
        return compute_findings(data, filters)

    monkeypatch.setattr(computing, "compute_estimates", compute)
    assert not renew_snapshot.func(built.study.pk, "")
    assert not FindingsSnapshot.objects.exists()


def test_a_page_is_made_once_for_the_same_findings(
    built: Built, reader: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object, **__: object) -> None:
        raise AssertionError("made again")

    def main() -> str:
        return body(reader.get(PAGE)).split("</main>")[0].split("<main")[1]  # a token stands outside

    first, picture = main(), "/studies/kept/charts/preferences.svg"
    drawn = reader.get(picture).content
    with monkeypatch.context() as patched:
        patched.setattr(page, "page_sections", fail)
        patched.setattr(page, "draw", fail)
        patched.setattr(snapshots.Snapshot, "numbers", property(fail))
        assert main() == first
        assert reader.get(picture).content == drawn
        with pytest.raises(AssertionError, match="made again"):
            reader.get(PAGE, {"raters_by": "seconds"})

    rate(built, 1, "zoe", [-1, -1], kind="imported")
    assert "zoe" not in first
    assert "zoe" in main()
    batch = built.study.batches.get()
    assert batch.name in first
    built.study.batches.update(name="another name")
    assert "another name" in main()
