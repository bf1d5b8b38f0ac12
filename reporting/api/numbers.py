"""Numbers on a study in the API: findings, separability, table effect, and those on judges and raters."""

from collections.abc import Callable
from dataclasses import asdict
from functools import partial
from typing import Any

import numpy as np
from django.http import HttpResponse
from drf_spectacular.utils import OpenApiParameter, OpenApiResponse
from rest_framework.exceptions import ParseError
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.viewsets import GenericViewSet

from annotation.api.answers import OBJECT, answers, work
from annotation.api.bodies import schema_of
from annotation.api.pages import number_asked
from annotation.core.errors import UnknownName
from annotation.models import Pair, Rating, Study
from annotation.studies.questions import find_question
from judging.core.constants import MOST_SEED
from judging.models import Judge
from judging.review.comparing import GOLD, compare
from judging.review.comparing import PEOPLE as BESIDE_PEOPLE
from reporting.accuracy.accuracies import judge_accuracy
from reporting.api.run_setup import EstimateSerializer, read_asking, run_queued
from reporting.api.serializers import JudgeRunSerializer
from reporting.core.raters import PEOPLE
from reporting.disagreements.choosing import asked_of, chosen, read_table, sizes
from reporting.disagreements.pair_table import KINDS as APART
from reporting.disagreements.views import rows_of
from reporting.findings.data.asked import filters_of
from reporting.findings.data.inputs import Filters
from reporting.findings.snapshots import Snapshot, snapshot_of
from reporting.findings.views import BEING_COMPUTED, RETRY, send_changed, send_stored
from reporting.leaderboard.leaderboard import leaderboard
from reporting.logic.audit import KINDS, found_in
from reporting.logic.audits import instance_rows, judges_audited, kept_audit, presentations_of
from reporting.logic.contradictions import opened
from reporting.logic.forms import LogicAuditForm
from reporting.separability.arrays import THRESHOLDS
from reporting.separability.reading import distinguishable
from reporting.separability.stability import stabilities
from reporting.separability.views import filters_of as separability_filters
from reporting.table_effect.reading import table_effect
from reporting.table_effect.views import filters_of as table_effect_filters

MOST_ON_PAGE = 100
QUESTION = OpenApiParameter("question", str, description="Key of a question. Default: the main one.")
SEED = OpenApiParameter("seed", int, description="Of intervals. Default: 0.")
DATASET = OpenApiParameter("dataset", str, description="Only this data set.")
DATASETS = OpenApiParameter("dataset", str, many=True, description="Only these data sets.")
SYSTEM = OpenApiParameter("system", str, many=True, description="Only pairs of this system, or of these two.")
BATCH = OpenApiParameter("batch", str, many=True, description="Only these batches.")
JUDGE = OpenApiParameter("judge", str, many=True, description="Only these judges.")
ARM = OpenApiParameter("arm", str, many=True, description="Only people's HITs of these arms.")
SIMILARITY = OpenApiParameter("similarity", str, description="Whose separability. Default: computed last.")
PAGED = [
    OpenApiParameter("page", int, description="From 1."),
    OpenApiParameter("page_size", int, description=f"At most {MOST_ON_PAGE}. Default: 20."),
]
CONTRADICTIONS = [
    OpenApiParameter("rater", str, description=f"{PEOPLE}, or judge:NAME. Default: people."),
    OpenApiParameter("kind", str, enum=KINDS, description=f"Default: {KINDS[0]}."),
    *(QUESTION, *PAGED),
]
DISAGREEMENTS = [
    OpenApiParameter("kind", str, enum=APART, description="Who disagrees. Default: all."),
    *(DATASETS, SYSTEM),
    OpenApiParameter("bin", int, description="Only this separability bin, from 1."),
    OpenApiParameter("rater", str, many=True, description="Only pairs that one of these people voted on, by codes."),
    *(ARM, JUDGE, BATCH, SIMILARITY, QUESTION, *PAGED),
]
COMPARE = [
    OpenApiParameter("first", str, required=True, description="Name of a judge."),
    OpenApiParameter(
        "second", str, description=f"Name of another one, or {GOLD} for the gold labels. Default: people."
    ),
    *(DATASET, QUESTION, *PAGED),
]
UNCHANGED = OpenApiResponse(description="Not changed since the `ETag` that was sent.")
FINDINGS = [
    OpenApiParameter("similarity", str, description="Whose separability to bin by. Default: computed last."),
    *(BATCH, DATASETS, SYSTEM, JUDGE),
    OpenApiParameter("rater", str, many=True, description="Only these people, by their codes."),
    OpenApiParameter("stage", str, enum=Rating.Stage.values, description="People's votes of this stage."),
    ARM,
    OpenApiParameter("with_excluded", bool, description="Include ratings that were excluded by hand."),
    OpenApiParameter("with_incomplete", bool, description="Include incomplete rating sets."),
    QUESTION,
    OpenApiParameter(
        "two_way", bool, description="Intervals over instances and raters, for numbers of several raters."
    ),
]
EFFECT = [DATASET, SYSTEM, BATCH]
THRESHOLD = OpenApiParameter("threshold", str, enum=THRESHOLDS, description="From where an alignment counts as high.")
STABILITY = [DATASET, SYSTEM, SIMILARITY]
SEPARABILITY = [*STABILITY, THRESHOLD, QUESTION]
LogicSerializer = schema_of(LogicAuditForm, "Logic", "A judge to ask for an audit of its consistency.")


class StudyNumbers(GenericViewSet[Any]):
    """Numbers about a study's judges and raters; for researchers too."""

    @work(refused=(409,), parameters=[SEED])
    def accuracy(self, request: Request, slug: str) -> Response:
        """Return how often judges are right where there is gold, as `manage.py judge_accuracy --format json` prints it."""
        study: Study = self.get_object()
        return Response(judge_accuracy(study, seed=number_asked(request, "seed", 0, minimum=0, maximum=MOST_SEED)))

    @work(refused=(409,), parameters=[QUESTION])
    def logic(self, request: Request, slug: str) -> Response:
        """Return how consistent raters are with themselves, as `manage.py logic_audit --format json` prints it for all."""
        study: Study = self.get_object()
        return Response(kept_audit(study, question=_question(request, study)))

    @answers(JudgeRunSerializer, 202, body=LogicSerializer)
    @logic.mapping.post
    def start_logic(self, request: Request, slug: str) -> Response:
        """Queue the run of an audit of a judge's logic, new or again."""
        return run_queued(read_asking(LogicAuditForm, request, self.get_object()).queue())

    @work(EstimateSerializer, body=LogicSerializer, methods=["post"], path="logic/estimate")
    def estimate_logic(self, request: Request, slug: str) -> Response:
        """Estimate the run of an audit of a judge's logic. No call is made."""
        return Response(read_asking(LogicAuditForm, request, self.get_object()).estimate().as_dict())

    @work(refused=(409,), path="logic/instances", parameters=[QUESTION])
    def logic_instances(self, request: Request, slug: str) -> Response:
        """Return each measure of each rater on each instance by itself."""
        study: Study = self.get_object()
        question = _question(request, study)
        judges = [None, *judges_audited(study, question).values()]
        return Response({"rows": list(instance_rows(study, judges, question=question))})

    @work(refused=(409,), path="logic/contradictions", parameters=CONTRADICTIONS)
    def contradictions(self, request: Request, slug: str) -> Response:
        """List a rater's contradictions of one kind, with texts, answers and rationales."""
        study: Study = self.get_object()
        question, kind = _question(request, study), request.query_params.get("kind", KINDS[0])
        if kind not in KINDS:
            raise ParseError(f"kind must be one of {', '.join(KINDS)}")
        judge, presentations = presentations_of(study, request.query_params.get("rater", PEOPLE), question=question)
        rows = found_in(presentations)[kind]
        listed = opened(study, judge, presentations, kind, rows[_shown(request)], question=question)
        return Response({"count": len(rows), "results": listed})

    @work(refused=(409,), parameters=DISAGREEMENTS)
    def disagreements(self, request: Request, slug: str) -> Response:
        """List the pairs on which raters disagree, the largest first, each with people's votes and judges' verdicts."""
        study: Study = self.get_object()
        page_filters = asked_of(study, request.query_params)
        table = read_table(study, page_filters.filters)
        distances = sizes(table, page_filters)
        row_numbers = chosen(table, page_filters, distances).tolist()
        rows = rows_of(study, page_filters, table, distances, row_numbers[_shown(request)])
        return Response({"count": len(row_numbers), "results": list(map(_disagreement, rows))})

    @work(refused=(409,), parameters=COMPARE)
    def compare(self, request: Request, slug: str) -> Response:
        """Compare a judge with another one, with people, or with the gold labels, on the pairs that both rated. Those that differ come first."""
        study: Study = self.get_object()
        query = request.query_params
        first, second = _judge(study, query.get("first", "")), query.get("second", BESIDE_PEOPLE)
        second_rater = second if second in (BESIDE_PEOPLE, GOLD) else _judge(study, second)
        if first == second_rater:
            raise ParseError("first and second must be two raters")
        compared = compare(
            study, first, second_rater, dataset=query.get("dataset", ""), question=_question(request, study)
        )
        rows = compared.order[_shown(request)].tolist()
        keys = dict(Pair.objects.filter(pk__in=compared.pair[rows].tolist()).values_list("pk", "key"))
        results = [
            {
                "pair": keys[int(compared.pair[at])],
                "first": _verdict(compared.first[at]),
                "second": _verdict(compared.second[at]),
            }
            for at in rows
        ]
        measures = {name: getattr(compared, name) for name in ("agreement", "kappa", "per_vote")}
        return Response(
            {
                "first": first.name,
                "second": second,
                "count": compared.asked,
                "counted": compared.counted,
                "differing": compared.disagreements,
                "confusion": compared.counts,
                **{name: measure and asdict(measure) for name, measure in measures.items()},
                "results": results,
            }
        )

    @work({200: OBJECT, 304: UNCHANGED}, refused=(409,), parameters=FINDINGS)
    def findings(self, request: Request, slug: str) -> HttpResponse:
        """Return the findings of the study, as `manage.py findings --format json` prints them.

        Of a large study they are those that were computed last, at the time in `Last-Modified`; 503 before the first time.
        """
        snapshot = self._snapshot(request)[2]
        return _send(request, snapshot, partial(send_stored, snapshot))

    @work({200: OBJECT, 304: UNCHANGED}, refused=(409,), parameters=FINDINGS)
    def leaderboard(self, request: Request, slug: str) -> HttpResponse:
        """Return the ranks of the study's systems by rater and data set, and what would settle the next place. 503 as `findings`."""
        study, filters, snapshot = self._snapshot(request)
        return _send(request, snapshot, lambda: Response(leaderboard(study, filters, snapshot.numbers or {})))

    def _snapshot(self, request: Request) -> tuple[Study, Filters, Snapshot]:
        study: Study = self.get_object()
        filters = filters_of(study, request.query_params)
        return study, filters, snapshot_of(study, filters)

    @work(refused=(409,), path="table-effect", parameters=EFFECT)
    def table_effect(self, request: Request, slug: str) -> Response:
        """Return what comparison tables change, as `manage.py table_effect --format json` prints it."""
        return Response(table_effect(self.get_object(), table_effect_filters(request.query_params)))

    @work(refused=(409,), parameters=SEPARABILITY)
    def distinguishable(self, request: Request, slug: str) -> Response:
        """Return separability with scenarios and advice, as `manage.py separability_advice --format json` prints it."""
        study = self.get_object()
        return Response(distinguishable(study, separability_filters(study, request.query_params)))

    @work(refused=(409,), parameters=STABILITY)
    def stability(self, request: Request, slug: str) -> Response:
        """Return how far separability moves with fewer samples, as `manage.py separability_stability --format json` prints it."""
        study = self.get_object()
        return Response(stabilities(study, separability_filters(study, request.query_params)))


def _send(request: Request, snapshot: Snapshot, make: Callable[[], HttpResponse]) -> HttpResponse:
    return send_changed(request, snapshot, make) or Response({"detail": BEING_COMPUTED}, status=503, headers=RETRY)


def _shown(request: Request) -> slice:
    """Return the place of a page among computed rows."""
    page = number_asked(request, "page", 1, minimum=1, maximum=MOST_SEED)
    size = number_asked(request, "page_size", 20, minimum=1, maximum=MOST_ON_PAGE)
    return slice((page - 1) * size, page * size)


def _question(request: Request, study: Study) -> int:
    return find_question(study, request.query_params.get("question", "")).number


def _judge(study: Study, name: str) -> Judge:
    judge = Judge.objects.filter(runs__study=study, name=name).first()
    if judge is None or judge.is_candidate:
        raise UnknownName(f"no judge {name} has run on study {study.slug}")
    return judge


def _verdict(value: float) -> int | None:
    return None if np.isnan(value) else int(value)


def _disagreement(row: dict[str, Any]) -> dict[str, Any]:
    pair = row["opened"].pair
    people = [
        {"rater": person.rater, "arm": person.arm, "first": _vote(person.first), "revised": _vote(person.revised)}
        for person in row["opened"].people
    ]
    return {
        "pair": pair.key,
        "instance_id": pair.matchup.instance.instance_id,
        "dataset": pair.matchup.instance.dataset,
        "systems": [pair.matchup.system_a.name, pair.matchup.system_b.name],
        "size": max(size for _kind, size in row["sizes"]),
        "separability_bin": row["separability"],
        "people": people,
        "judges": {name: _verdict(verdict) for name, verdict in row["judges"].items()},
    }


def _vote(vote: Any) -> dict[str, Any] | None:
    return vote and {"verdict": vote.verdict, "reason": vote.reason}
