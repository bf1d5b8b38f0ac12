"""The state of a study's data: each source of findings that changes makes it another one, and nothing else does."""

from collections.abc import Callable
from typing import Any

import pytest
from django.db.models import F
from django.utils import timezone

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
    Rating,
    SeparabilityRun,
    Slot,
    Study,
    System,
)
from annotation.studies.log import log
from judging.models import Judge, JudgeRun, Judgment
from reporting.findings.data import data_state
from reporting.findings.data.data_state import DEPARTED, State, departures, state_of
from tests.reporting.builders import Built, build_configuration, build_study, judge, rate, separate

pytestmark = [pytest.mark.django_db, pytest.mark.engine, pytest.mark.slow]
RATINGS, JUDGMENTS = Rating.objects.all, Judgment.objects.all
CHANGES: dict[str, tuple[str, Callable[[Built], object]]] = {
    "a setting of a question": ("settings", lambda built: Study.objects.update(strength=True)),
    "a further question": ("settings", lambda built: Study.objects.update(criteria=[{"key": "x", "text": "Which?"}])),
    "an excluded rater": ("people", lambda built: Annotator.objects.filter(code="ann").update(excluded=True)),
    "a withdrawal": (DEPARTED, lambda built: Annotator.objects.filter(code="ann").update(withdrawn_at=timezone.now())),
    "another code": ("people", lambda built: Annotator.objects.filter(code="ann").update(code="r-1")),
    "a family": ("systems", lambda built: System.objects.filter(name="first-system").update(family="gpt")),
    "a gold": ("instances", lambda built: Instance.objects.filter(instance_id="news-1").update(gold="first-system")),
    "a text": ("texts", lambda built: Generation.objects.filter(pk=built.pairs[0][0].generation_a_id).update(text="x")),
    "one more HIT": (
        "batches",
        lambda built: Hit.objects.create(batch=built.batch, matchup=built.matchups[0], position=9),
    ),
    "a chance": ("batches", lambda built: Hit.objects.filter(pk=built.hits[0].pk).update(inclusion_probability=0.5)),
    "a batch's purpose": ("batches", lambda built: Batch.objects.update(purpose=Batch.Purpose.GOLD)),
    "a pair on a HIT": ("batches", lambda built: HitPair.objects.filter(hit=built.hits[0]).last().delete()),  # type: ignore[union-attr]
    "an excluded HIT": ("assignments", lambda built: _one(Assignment).update(excluded=True)),
    "a HIT submitted": ("assignments", lambda built: _one(Assignment).update(state="returned")),
    "a slot lost": ("assignments", lambda built: _one(Slot).update(assignment=None)),
    "an arm": ("assignments", lambda built: _one(Assignment).update(arm="tables")),
    "one more rating": ("ratings", lambda built: rate(built, 1, "eve", [1, 1])),
    "a verdict changed": ("ratings", lambda built: RATINGS().filter(pk=_rating()).update(verdict=F("verdict") * -1)),
    "a time": ("ratings", lambda built: RATINGS().filter(pk=_rating()).update(active_seconds=4)),
    "a side": ("ratings", lambda built: _one(Display).update(a_is_left=False)),
    "a strength": ("ratings", lambda built: RATINGS().filter(pk=_rating()).update(strength=2)),
    "a kind of tie": ("ratings", lambda built: RATINGS().filter(verdict=0).update(tie_kind="bad")),
    "a rating gone": ("ratings", lambda built: RATINGS().filter(pk=_rating()).delete()),
    "separability again": ("separability", lambda built: SeparabilityRun.objects.update(computed_at=timezone.now())),
    "a bound": ("separability", lambda built: SeparabilityRun.objects.update(high=0.9)),
    "an alignment gone": ("separability", lambda built: _one(Alignment).delete()),
    "one more judgment": ("judgments", lambda built: judge(built, "direct", [(1, 1, "ab", 1)])),
    "a judgment read again": ("judgments", lambda built: JUDGMENTS().filter(verdict=-1).update(verdict=1)),
    "a judgment failed": (
        "judgments",
        lambda built: JUDGMENTS().filter(verdict=-1).update(verdict=None, status="error"),
    ),
    "a probability": ("judgments", lambda built: JUDGMENTS().filter(verdict=-1).update(p_b=0.25)),
    "a judge's family": ("judgments", lambda built: Judge.objects.update(family="gpt")),
    "one more run": (
        "judgments",
        lambda built: JudgeRun.objects.create(study=built.study, judge=Judge.objects.get(), filter_key="x"),
    ),
    "an amendment": ("log", lambda built: log(study=built.study, kind=Event.Kind.AMENDMENT, reason="a typo")),
}


def _one(model: Any) -> Any:
    return model.objects.filter(pk=model.objects.order_by("pk").first().pk)


def _rating() -> int:
    return RATINGS().filter(verdict=-1).order_by("pk").values_list("pk", flat=True)[0]


@pytest.fixture(scope="module")
def built(module_rows: None) -> Built:
    """A study with everything that findings read; tests change rows, not these objects."""
    built = build_configuration(build_study("state"), instances=2, pairs=2)
    separate(built, [(0.5, 0.6, 0.1), (0.5, 0.5, 0.4)], [0.9, 0.1])
    rate(built, 0, "ann", [-1, 0])
    rate(built, 1, "bob", [1, 1])
    judge(built, "direct", [(0, 0, "ab", -1), (0, 1, "ab", "unparsed")])
    return built


@pytest.fixture(scope="module")
def before(built: Built) -> State:
    return state_of(built.study)


@pytest.mark.any_engine
@pytest.mark.parametrize(("source", "change"), CHANGES.values(), ids=CHANGES)
def test_every_change_of_the_data_changes_the_state_of_its_source(
    source: str, change: Callable[[Built], object], built: Built, before: State
) -> None:
    change(built)
    after = state_of(Study.objects.get(pk=built.study.pk))
    assert source in {name for name, digest in after.items() if digest != before[name]}


def test_other_studies_change_nothing(built: Built, before: State) -> None:
    other = build_configuration(build_study("other"), instances=1, pairs=2)
    rate(other, 0, "ann", [1, 1])
    judge(other, "other", [(0, 0, "ab", -1)])
    assert state_of(built.study) == before
    assert departures(built.study) == before[DEPARTED]


def test_ratings_are_summed_alike_whichever_study_has_most(built: Built, monkeypatch: pytest.MonkeyPatch) -> None:
    other = build_configuration(build_study("other"), instances=1, pairs=2)
    rate(other, 0, "ann", [1, 1])
    states = set()
    for few in (0, 1_000):  # all but those of others; those of the study
        monkeypatch.setattr(data_state, "FEW_OF_OTHERS", few)
        states.add(state_of(built.study)["ratings"])
    assert len(states) == 1
    assert state_of(other.study)["ratings"] not in states
