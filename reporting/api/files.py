"""Files of a study in the API: rows in long form, and bundles and reports that the worker makes."""

from dataclasses import asdict
from decimal import Decimal
from typing import Any

from django.conf import settings
from django.http import HttpResponseBase
from django.urls import reverse
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework import serializers, status
from rest_framework.decorators import action
from rest_framework.exceptions import ParseError
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.viewsets import GenericViewSet

from analysis.refinement import EQUAL_RATINGS
from analysis.table_checks import SUPPORTED
from annotation.api.bodies import read, require_manager, user_of
from annotation.api.study_serializers import refusals
from annotation.core.errors import BadFields
from annotation.models import Rating, Study
from annotation.studies.questions import find_question
from judging.calls.adhoc import AdhocRequests
from judging.core.constants import MAX_IN_FLIGHT
from judging.core.pricing import check_cap
from judging.endpoints.services import find_endpoint
from reporting.api.rows import KEY
from reporting.bundle.layout import CHOICES
from reporting.downloads.jobs import files_of, queue_file, remove_file
from reporting.downloads.views import find_file, packed
from reporting.exports.elsewhere import PEOPLE, WantedVerdicts
from reporting.exports.files import FORMATS, KINDS
from reporting.exports.views import CONTENT_TYPES, rows_response
from reporting.logic.given_preferences import FORMS, refuse_unknown
from reporting.logic.ranking import METHODS
from reporting.logic.stored_ranking import StoredRanking, judge_with_answers
from reporting.logic.training_files import FORMS as TRAINING
from reporting.models import MadeFile

PACKED = "application/zip"
MOST_RATERS = 100
VERDICTS: dict[str, Any] = {"raters": [PEOPLE], "dataset": "", "question": "", "stage": "first"}
REPAIRED: dict[str, Any] = {**VERDICTS, "method": "win_loss", "seed": 0}
CHOICES_OF: dict[str, dict[str, Any]] = {
    MadeFile.Kind.BUNDLE: dict.fromkeys(CHOICES, True),
    MadeFile.Kind.REPORT: {"language": settings.LANGUAGE_CODE},
    MadeFile.Kind.PREFERENCES: {"form": "trl", **VERDICTS},
    MadeFile.Kind.REFINED: {"form": "trl", **REPAIRED, "negated": False, "down_sample": False, "held_out": 0.0},
    MadeFile.Kind.NOISE: {**REPAIRED, "flips": [10.0], "draws": 100},
    MadeFile.Kind.RANKING: {**asdict(StoredRanking()), "methods": list(METHODS)},
    MadeFile.Kind.TABLE_CHECKS: {
        "endpoint": "",
        "model": "",
        "variant": "",
        "threshold": SUPPORTED,
        "params": {},
        "max_cost": None,
        "in_flight": None,
    },
}
FORMAT = OpenApiParameter("format", str, enum=FORMATS, description="csv when left out.")
ROWS: Any = {(200, kind.partition(";")[0]): OpenApiTypes.BINARY for kind in CONTENT_TYPES.values()}


class MadeFileSerializer(serializers.ModelSerializer[MadeFile]):
    """A file that the worker makes, and how far it is."""

    study = serializers.CharField(source="study.slug", read_only=True)
    options = serializers.JSONField(read_only=True)
    status = serializers.CharField(read_only=True, help_text="queued, running, done or failed.")
    content = serializers.SerializerMethodField(help_text="The address of the zip file, once it is done.")

    class Meta:
        model = MadeFile
        fields = [
            *("key", "study", "kind", "options", "status", "done", "total", "size", "message"),
            *("asked_at", "finished_at", "content"),
        ]

    def get_content(self, made: MadeFile) -> str | None:
        """Return the address of a file that is there."""
        is_there = made.status == MadeFile.Status.DONE
        return reverse("api:study-file-content", args=[made.study.slug, made.key]) if is_there else None


class NewFileSerializer(serializers.Serializer[Any]):
    """A bundle, and what it holds; a report, and its language; preferences, as given or repaired, and whose; or ranked texts."""

    kind = serializers.ChoiceField(choices=MadeFile.Kind.choices)
    texts = serializers.BooleanField(required=False, help_text="Of a bundle: sources, generations, tables.")
    completions = serializers.BooleanField(required=False, help_text="Of a bundle: raw answers of judges.")
    reasons = serializers.BooleanField(required=False, help_text="Of a bundle: what raters wrote.")
    language = serializers.ChoiceField(choices=[code for code, _ in settings.LANGUAGES], required=False)
    form = serializers.ChoiceField(choices=FORMS, required=False, help_text="Of preferences: trl when left out.")
    raters = serializers.ListField(
        child=serializers.CharField(max_length=120),
        required=False,
        max_length=MOST_RATERS,
        help_text="Of preferences: people (when left out), judge:NAME.",
    )
    dataset = serializers.CharField(required=False, help_text="Only this data set.")
    question = serializers.CharField(required=False, help_text="The key of one of several questions.")
    stage = serializers.ChoiceField(choices=Rating.Stage.choices, required=False)
    method = serializers.ChoiceField(choices=list(EQUAL_RATINGS), required=False, help_text="Scores of the repair.")
    seed = serializers.IntegerField(
        min_value=0, max_value=2**32 - 1, required=False, help_text="Of the repair's draws."
    )
    negated = serializers.BooleanField(required=False, help_text="Of refined: each row also with the negated question.")
    down_sample = serializers.BooleanField(required=False, help_text="Of refined: only as many rows as were given.")
    held_out = serializers.FloatField(
        min_value=0, max_value=0.99, required=False, help_text="Of refined: share of instances kept apart."
    )
    flips = serializers.ListField(
        child=serializers.FloatField(min_value=0, max_value=100),
        required=False,
        min_length=1,
        max_length=MOST_RATERS,
        help_text="Of noise: percentages.",
    )
    draws = serializers.IntegerField(min_value=1, max_value=1000, required=False, help_text="Of noise, for each.")
    judge = serializers.CharField(required=False, help_text="Of a ranking; may be left out where one has answers.")
    methods = serializers.ListField(
        child=serializers.ChoiceField(choices=list(METHODS)), required=False, min_length=1, max_length=len(METHODS)
    )
    calibrate = serializers.BooleanField(required=False, help_text="Of a ranking: by the mean of both orders.")
    seeds = serializers.IntegerField(
        min_value=1, max_value=1000, required=False, help_text="Of a ranking: orders in which the texts come."
    )
    sample = serializers.IntegerField(min_value=1, required=False, help_text="Of a ranking: about so many instances.")
    endpoint = serializers.CharField(required=False, max_length=80, help_text="Of table-checks, which need one.")
    model = serializers.CharField(
        required=False, help_text="Of table-checks: of an embedding model; without it the chat model is asked."
    )
    variant = serializers.CharField(required=False, help_text="Of table-checks: only the tables of this variant.")
    threshold = serializers.FloatField(
        min_value=-1, max_value=1, required=False, help_text="Of table-checks by vectors: the cosine that supports."
    )
    params = serializers.DictField(required=False, help_text="Of table-checks: sent with each call.")
    max_cost = serializers.DecimalField(
        required=False, max_digits=12, decimal_places=6, min_value=Decimal(0), help_text="Of table-checks: at most."
    )
    in_flight = serializers.IntegerField(required=False, min_value=1, max_value=MAX_IN_FLIGHT)


def _refuse_unknown(study: Study, kind: str, options: dict[str, Any]) -> None:
    """Refuse what the study doesn't have before it is queued.

    Raises: UnknownName; BadFields.
    """
    if "raters" in options:
        refuse_unknown(study, WantedVerdicts(**{name: options[name] for name in VERDICTS}))
    if kind == MadeFile.Kind.REFINED and options["form"] not in TRAINING:
        raise BadFields({"form": [f"Of repaired preferences one of {', '.join(TRAINING)}."]})
    if kind == MadeFile.Kind.RANKING:
        question = find_question(study, options["question"]).number
        judge_with_answers(study, options["judge"], question)
        refuse_unknown(study, WantedVerdicts(dataset=options["dataset"]))
    if kind == MadeFile.Kind.TABLE_CHECKS:
        endpoint = find_endpoint(options["endpoint"])
        check_cap(options["max_cost"], endpoint)
        AdhocRequests(endpoint, params=options["params"])
        options["max_cost"] = None if options["max_cost"] is None else str(options["max_cost"])


class StudyFiles(GenericViewSet[Any]):
    """Exports of rows, and files that the worker makes; for readers of the study."""

    @extend_schema(parameters=[FORMAT], responses={**ROWS, **refusals(409)}, filters=False)
    @action(
        detail=True,
        url_path=rf"exports/(?P<kind>{'|'.join(KINDS)})",
        pagination_class=None,
        filter_backends=[],
        parameters=[FORMAT],
    )
    def exports(self, request: Request, slug: str, kind: str) -> HttpResponseBase:
        """Stream the rows of one kind, as `manage.py export_study` writes them."""
        form = request.query_params.get("format", "csv")
        if form not in FORMATS:
            raise ParseError(f"format must be one of {', '.join(FORMATS)}")
        response: HttpResponseBase = rows_response(self.get_object(), kind, form)
        return response

    @extend_schema(responses={200: MadeFileSerializer(many=True), **refusals()}, filters=False)
    @action(detail=True, pagination_class=None, filter_backends=[])
    def files(self, request: Request, slug: str) -> Response:
        """List the files that were asked for, the latest first, with the progress of those that are being made."""
        return Response(MadeFileSerializer(files_of(self.get_object()), many=True).data)

    @extend_schema(request=NewFileSerializer, responses={202: MadeFileSerializer, **refusals(413, 422)})
    @files.mapping.post
    def make_file(self, request: Request, slug: str) -> Response:
        """Queue a file of one kind; asking for the same while it is under way changes nothing."""
        study: Study = self.get_object()
        data = read(NewFileSerializer, request)
        kind = data.pop("kind")
        if foreign := [name for name in data if name not in CHOICES_OF[kind]]:
            raise BadFields({name: [f"There is no such choice for kind {kind}."] for name in foreign})
        options = {**CHOICES_OF[kind], **data}
        _refuse_unknown(study, kind, options)
        made, _ = queue_file(study, kind, options, user_of(request))
        return Response(MadeFileSerializer(made).data, status=status.HTTP_202_ACCEPTED)

    @extend_schema(responses={200: MadeFileSerializer, **refusals()}, filters=False)
    @action(detail=True, url_path=rf"files/(?P<key>{KEY})", pagination_class=None, filter_backends=[])
    def file(self, request: Request, slug: str, key: str) -> Response:
        """Return one file and its progress."""
        return Response(MadeFileSerializer(find_file(self.get_object(), key)).data)

    @extend_schema(request=None, responses={204: None, **refusals()})
    @file.mapping.delete
    def remove_file(self, request: Request, slug: str, key: str) -> Response:
        """Remove a file that was made."""
        study: Study = self.get_object()
        require_manager(request.user, study)
        remove_file(find_file(study, key))
        return Response(status=status.HTTP_204_NO_CONTENT)

    @extend_schema(responses={(200, PACKED): OpenApiTypes.BINARY, **refusals()}, filters=False)
    @action(detail=True, url_path=rf"files/(?P<key>{KEY})/content", pagination_class=None, filter_backends=[])
    def file_content(self, request: Request, slug: str, key: str) -> HttpResponseBase:
        """Send a file that was made."""
        study: Study = self.get_object()
        return packed(study, find_file(study, key))
