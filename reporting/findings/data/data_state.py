"""The state of the data that findings are computed from: it differs whenever any of these data do.

Rows that may change in place are compared by sums in which each has a weight by its primary key, so that the database adds
them up and millions of them need not be read.
"""

import hashlib
import json
from collections.abc import Callable
from typing import Any

from django.core.serializers.json import DjangoJSONEncoder
from django.db.models import BigIntegerField, Case, Count, F, Q, QuerySet, Sum, Value, When
from django.db.models.expressions import Combinable
from django.db.models.functions import Cast, Coalesce, Length, Round

from annotation.models import (
    Alignment,
    Annotator,
    Assignment,
    Generation,
    Hit,
    HitPair,
    Instance,
    Matchup,
    Pair,
    Rating,
    Study,
)
from annotation.studies.log import shown_with_results
from judging.models import JudgeRun, Judgment

State = dict[str, str]
Source = Callable[[Study], object]
DEPARTED = "departed"
MILLION = 1_000_000
FEW_OF_OTHERS = 3  # other studies have a third of all assignments at most
WEIGHTS = 10_007  # a prime; sums over a hundred million rows stay below 2^63


def state_of(study: Study) -> State:
    """Return a digest of each source of a study's findings."""
    return {name: _digest(source(study)) for name, source in _SOURCES.items()}


def departures(study: Study) -> str:
    """Return the digest under `DEPARTED`: of the raters who withdrew or were erased, whom findings must not show."""
    return _digest(_departed(study))


def _digest(found: object) -> str:
    text = json.dumps(found, cls=DjangoJSONEncoder, sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()[:32]


def _rows(rows: QuerySet[Any], *columns: str) -> list[Any]:
    return list(rows.order_by("pk").values_list("pk", *columns))


def _sums(rows: QuerySet[Any], **columns: Combinable | str) -> dict[str, Any]:
    """Count rows, and sum their primary keys and whole numbers of theirs, each row with a weight by its primary key."""
    sums = {name: Sum((F("pk") % WEIGHTS + 1) * Coalesce(column, Value(-1))) for name, column in columns.items()}
    return rows.order_by().aggregate(rows=Count("pk"), keys=Sum("pk"), **sums)


def _code(**values: str) -> Case:
    """Number the values of a text column from 1."""
    [(column, listed)] = values.items()
    numbered = enumerate(listed.split(), start=1)
    return Case(*(When(Q(**{column: value}), then=Value(code)) for code, value in numbered), default=Value(0))


def _whole(column: str, scale: int) -> Combinable:
    return Cast(Round(F(column) * scale), BigIntegerField())


def _settings(study: Study) -> object:
    return [study.slug, study.protocol, [vars(one) for one in study.questions]]


def _people(study: Study) -> object:
    return _rows(Annotator.objects.filter(study=study), "code", "kind", "excluded")


def _departed(study: Study) -> object:
    left = Q(withdrawn_at__isnull=False) | Q(erased_at__isnull=False)
    return _rows(Annotator.objects.filter(left, study=study), "withdrawn_at", "erased_at")


def _instances(study: Study) -> object:
    return _rows(Instance.objects.filter(study=study), "instance_id", "dataset", "position", "gold")


def _texts(study: Study) -> object:
    return [
        _sums(Generation.objects.filter(instance__study=study), length=Length("text")),
        _sums(Matchup.objects.filter(instance__study=study)),
        _sums(Pair.objects.filter(matchup__instance__study=study), index=F("index")),
    ]


def _batches(study: Study) -> object:
    on_hits = HitPair.objects.filter(hit__batch__study=study)
    return [
        _rows(study.batches.all(), "name", "dataset", "system_a", "system_b", "purpose", "selection"),
        _sums(Hit.objects.filter(batch__study=study), chance=_whole("inclusion_probability", MILLION)),
        _sums(on_hits, position=F("position"), pair=F("pair_id")),
    ]


def _assignments(study: Study) -> object:
    work = Assignment.objects.filter(hit__batch__study=study)
    arms = work.order_by("arm").values_list("arm").annotate(rows=Count("pk"), weight=Sum(F("pk") % WEIGHTS))
    whole = _sums(
        work,
        excluded=_flag(excluded=True),
        submitted=_flag(state=Assignment.State.SUBMITTED),
        rating=_flag(purpose=Assignment.Purpose.RATING),
        surplus=_flag(slot=None),
        rater=F("annotator_id"),
    )
    return [whole, list(arms)]


def _flag(**condition: Any) -> Case:
    return Case(When(Q(**condition), then=Value(1)), default=Value(0))


def _ratings(study: Study) -> object:
    """Sum over the study's ratings: where other studies have few, over all but theirs, which need no joins to be found."""
    given, of_study = Rating.objects.all(), Q(display__assignment__hit__batch__study=study)
    work = Assignment.objects.order_by()
    if FEW_OF_OTHERS * work.exclude(hit__batch__study=study).count() > work.count():
        return _rating_sums(given.filter(of_study))
    others = _rating_sums(given.exclude(of_study))
    return {name: total - others[name] for name, total in _rating_sums(given).items()}


def _rating_sums(given: QuerySet[Rating]) -> dict[str, int]:
    sums = _sums(
        given,
        verdict=F("verdict"),
        left=_flag(display__a_is_left=True),
        place=F("display__position"),
        seconds=_whole("active_seconds", 1000),
        strength=F("strength"),
        tie=_code(tie_kind="good bad"),
    )
    return {name: int(total or 0) for name, total in sums.items()}


def _separability(study: Study) -> object:
    columns = ("dataset", "similarity", "model", "model_fingerprint", "samples", "cross_pairs", "seed")
    runs = study.separability_runs.all()
    return [
        _rows(runs, *columns, "system_a", "system_b", "group", "low", "high", "computed_at"),
        _sums(Alignment.objects.filter(run__in=runs), separability=_whole("separability", MILLION)),
    ]


def _judgments(study: Study) -> object:
    columns = (
        "questions",
        "created_at",
        "batch",
        "judge__name",
        "judge__family",
        "judge__order",
        "judge__combine",
        "judge__params",
    )
    return [
        _rows(JudgeRun.objects.filter(study=study), "judge", *columns),
        _sums(
            Judgment.objects.filter(run__study=study),
            status=_code(status=" ".join(Judgment.Status.values)),
            verdict=F("verdict"),
            p_b=_whole("p_b", MILLION),
            calls=F("calls"),  # each has an answer, by a model
        ),
    ]


_SOURCES: dict[str, Source] = {
    "settings": _settings,
    "people": _people,
    DEPARTED: _departed,
    "systems": lambda study: _rows(study.systems.all(), "name", "family", "position"),
    "instances": _instances,
    "texts": _texts,
    "batches": _batches,
    "assignments": _assignments,
    "ratings": _ratings,
    "separability": _separability,
    "judgments": _judgments,
    "log": shown_with_results,
}
