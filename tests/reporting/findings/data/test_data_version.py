"""The version of a study's data: each change of what findings read makes it another one, and no other study's does."""

import re
from collections.abc import Callable
from typing import Any

import pytest
from django.apps import apps
from django.db import connection
from django.db.models import F
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from annotation.importing import staging
from annotation.importing.rating_files import import_ratings
from annotation.models import (
    Alignment,
    Annotator,
    Assignment,
    Batch,
    Display,
    Event,
    Generation,
    Hit,
    HitPair,
    Instance,
    Pair,
    Rating,
    SeparabilityRun,
    Slot,
    Study,
    System,
)
from annotation.privacy.erasing import erase_rater
from annotation.studies.log import log
from judging.models import Judge, JudgeRun, Judgment
from reporting.core.data_version import SOURCES, version_of
from reporting.disagreements.choosing import read_table
from reporting.findings.computing import findings_under
from reporting.findings.data.inputs import Filters
from reporting.logic.audits import kept_audit
from tests.factories import csv_file
from tests.reporting.builders import Built, build_configuration, build_study, judge, rate, separate
from tests.whole_study import build_whole_study

pytestmark = [pytest.mark.django_db, pytest.mark.engine, pytest.mark.slow]
RATINGS, JUDGMENTS = Rating.objects.all, Judgment.objects.all
CHANGES: dict[str, Callable[[Built], object]] = {
    "a setting of a question": lambda built: Study.objects.update(strength=True),
    "a further question": lambda built: Study.objects.update(criteria=[{"key": "x", "text": "Which?"}]),
    "an excluded rater": lambda built: Annotator.objects.filter(code="ann").update(excluded=True),
    "a withdrawal": lambda built: Annotator.objects.filter(code="ann").update(withdrawn_at=timezone.now()),
    "another code": lambda built: Annotator.objects.filter(code="ann").update(code="r-1"),
    "a family": lambda built: System.objects.filter(name="first-system").update(family="gpt"),
    "a gold": lambda built: Instance.objects.filter(instance_id="news-1").update(gold="first-system"),
    "a text": lambda built: Generation.objects.filter(pk=built.pairs[0][0].generation_a_id).update(text="x"),
    "one more HIT": lambda built: Hit.objects.create(batch=built.batch, matchup=built.matchups[0], position=9),
    "a chance": lambda built: Hit.objects.filter(pk=built.hits[0].pk).update(inclusion_probability=0.5),
    "a batch's purpose": lambda built: Batch.objects.update(purpose=Batch.Purpose.GOLD),
    "a pair on a HIT": lambda built: HitPair.objects.filter(hit=built.hits[0]).last().delete(),  # type: ignore[union-attr]
    "an excluded HIT": lambda built: _one(Assignment).update(excluded=True),
    "a HIT submitted": lambda built: _one(Assignment).update(state="returned"),
    "a slot lost": lambda built: _one(Slot).update(assignment=None),
    "an arm": lambda built: _one(Assignment).update(arm="tables"),
    "one more rating": lambda built: rate(built, 1, "eve", [1, 1]),
    "a verdict changed": lambda built: RATINGS().filter(pk=_rating()).update(verdict=F("verdict") * -1),
    "a time": lambda built: RATINGS().filter(pk=_rating()).update(active_seconds=4),
    "a side": lambda built: _one(Display).update(a_is_left=False),
    "a strength": lambda built: RATINGS().filter(pk=_rating()).update(strength=2),
    "a kind of tie": lambda built: RATINGS().filter(verdict=0).update(tie_kind="bad"),
    "a revised vote": lambda built: _one(Rating).update(stage="revised"),
    "a withdrawn text": lambda built: Generation.objects.filter(pk=built.pairs[0][0].generation_b_id).update(text=""),
    "a pair renumbered": lambda built: Pair.objects.filter(pk=built.pairs[0][0].pk).update(index=9),
    "an erased rater": lambda built: erase_rater(
        annotator=Annotator.objects.get(code="bob"), by=None, at=timezone.now()
    ),
    "a name of the study": lambda built: Study.objects.update(slug="renamed"),
    "a rating gone": lambda built: RATINGS().filter(pk=_rating()).delete(),
    "separability again": lambda built: SeparabilityRun.objects.update(computed_at=timezone.now()),
    "a bound": lambda built: SeparabilityRun.objects.update(high=0.9),
    "an alignment gone": lambda built: _one(Alignment).delete(),
    "one more judgment": lambda built: judge(built, "direct", [(1, 1, "ab", 1)]),
    "a judgment read again": lambda built: JUDGMENTS().filter(verdict=-1).update(verdict=1),
    "a judgment failed": lambda built: JUDGMENTS().filter(verdict=-1).update(verdict=None, status="error"),
    "a probability": lambda built: JUDGMENTS().filter(verdict=-1).update(p_b=0.25),
    "a judge's family": lambda built: Judge.objects.update(family="gpt"),
    "one more run": lambda built: JudgeRun.objects.create(study=built.study, judge=Judge.objects.get(), filter_key="x"),
    "an amendment": lambda built: log(study=built.study, kind=Event.Kind.AMENDMENT, reason="a typo"),
}


def _one(model: Any) -> Any:
    return model.objects.filter(pk=model.objects.order_by("pk").first().pk)


def _rating() -> int:
    return RATINGS().filter(verdict=-1).order_by("pk").values_list("pk", flat=True)[0]


@pytest.fixture(scope="module")
def built(module_rows: None, django_db_blocker: Any) -> Built:
    """A study with everything that findings read; tests change rows, not these objects."""
    with django_db_blocker.unblock():
        built = build_configuration(build_study("state"), instances=2, pairs=2)
        separate(built, [(0.5, 0.6, 0.1), (0.5, 0.5, 0.4)], [0.9, 0.1])
        rate(built, 0, "ann", [-1, 0])
        rate(built, 1, "bob", [1, 1])
        judge(built, "direct", [(0, 0, "ab", -1), (0, 1, "ab", "unparsed")])
    return built


@pytest.mark.any_engine
@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
def test_every_change_of_the_data_changes_their_version(change: Callable[[Built], object], built: Built) -> None:
    before = version_of(built.study)
    change(built)
    assert version_of(built.study) != before


@pytest.mark.any_engine
def test_other_studies_and_what_findings_do_not_read_change_nothing(built: Built) -> None:
    before = version_of(built.study)
    other = build_configuration(build_study("other"), instances=1, pairs=2)
    rate(other, 0, "ann", [1, 1])
    judge(other, "other", [(0, 0, "ab", -1)])
    Assignment.objects.update(expires_at=timezone.now())
    Display.objects.update(shown_at=timezone.now())
    JudgeRun.objects.update(finished_at=timezone.now())
    assert version_of(built.study) == before


def test_every_table_that_is_read_counts() -> None:
    study = build_whole_study("read").study
    with CaptureQueriesContext(connection) as queries:
        findings_under(study, Filters())
        read_table(study, Filters())
        kept_audit(study)
    read = {name for query in queries for name in re.findall(r'(?:FROM|JOIN) "?(\w+)"?', query["sql"])}
    with_judgments = {"judging_completion", "judging_judgment_completions", "judging_endpoint"}
    of_the_log = {"auth_user"}
    counted = {apps.get_model(name)._meta.db_table for name in SOURCES} | {"reporting_datachanges"}
    assert read - counted == with_judgments | of_the_log


@pytest.mark.any_engine
def test_an_import_below_a_hidden_study_changes_the_version_when_it_is_merged(
    built: Built, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(staging, "WHOLE", 0)
    before = version_of(built.study)
    systems = {"system_a": built.system_a.name, "system_b": built.system_b.name}
    row = {"instance_id": "news-1", "pair_index": 0, **systems, "rater": "eve", "rating": 1, "shown_first": "a"}
    import_ratings(data=csv_file([row]), name="r.csv", slug=built.study.slug)
    assert version_of(built.study) != before
